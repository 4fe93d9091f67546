"""People's marks: who marked what, who marks what next, how far they agree, and the files that come out."""

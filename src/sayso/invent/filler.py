"""What news says around the clause that matters: openings and endings; their slots are filled from `slots.SLOTS`."""

LEADS: tuple[str, ...] = (
    "{role} said on {day} that",
    "according to {person} , {role} ,",
    "in {month} {year} ,",
    "as the quarrel over {topic} went on ,",
    "though {group} had complained about {topic} ,",
    "{person} wrote in {paper} that",
    "by the time {group} heard about {topic} ,",
    "at the {event} , {person} recalled that",
    "even as {group} argued over {topic} ,",
    "after {num} weeks of talk about {topic} ,",
    "for {group} it was old news that",
    "long before {person} spoke of {topic} ,",
    "in a statement on {day} , {role} said that",
    "{paper} reported on {day} that",
    "{role} , {person} , told {group} that",
    "with {topic} once more in the news ,",
    "as {group} in {place} prepared for the {event} ,",
    "on a {adjective} {day} in {month} ,",
    "not everyone at {org} knew that",
    "while {role} waited for an answer about {topic} ,",
    "the {event} was {num} days away , and",
    "when asked about {topic} , {person} said only that",
    "it was {person} who first wrote that",
    "few people outside {place} remember it , but",
    "in the {decade} , before {topic} became a worry ,",
)
"""Openings that a whole clause can follow."""

TRAILS: tuple[str, ...] = (
    ", {role} said",
    ", according to {paper}",
    ", and {group} {reacted} when {topic} came up at the {event}",
    ", while {person} of {org} called the dispute over {topic} {adjective}",
    ", a point that {person} , {role} , made more than once on {day}",
    "; {group} in {place} were told on {day} to wait for news about {topic}",
    ", and {person} , who had worked on {topic} for {num} years , {reacted}",
    ", but {role} would not say what that meant for {topic}",
    ", at a time when {group} paid little attention to {topic}",
    ", and the {event} went ahead as planned",
    ", though {person} later said that the {event} had been {adjective}",
    ", which surprised {group} from {place} and {place}",
    ", and more than {num} letters about {topic} reached {paper} that week",
    ", as {person} put it in a {adjective} talk on {topic}",
    "; a decision about {topic} is expected in {month}",
    ", days after {org} said it would look again at {topic}",
    ", where {group} spoke of {topic} and of little else",
    ", to the relief of {person} and {num} others at {org}",
    ", in what {person} described as a {adjective} turn in the story of {topic}",
    ", said {person} , {role} , adding that {topic} would have to wait until {month}",
    ", and by {day} even {group} had {reacted}",
    "; {person} and {person} , who {reacted} at first , now agree on {topic}",
    ", one of {num} things about {topic} that {paper} got right",
    ", with the {event} still {num} weeks away",
    ", an account that {org} has neither confirmed nor denied",
)
"""Endings after a whole clause."""

ECHOES: tuple[str, ...] = (
    ", and {paper} put {head} on the front page",
    ", and {group} have asked about {head} ever since",
    "; more about {tail} is expected in {month}",
    ", and there were questions about {tail} again on {day}",
    ", a story in which {head} comes up {num} times",
)
"""Endings that name one of the pair a second time."""

ASIDES: tuple[str, ...] = (
    ", in an edition that also carried a story about {third}",
    ", and the next page was about {third}",
    "; a long letter on {third} and {topic} followed",
    ", while {role} preferred to talk about {third}",
    ", and {person} , at the {event} , spoke of {third} as well",
    ", shortly before {paper} turned to {third} and {topic}",
)
"""Endings that name a third entity, without saying anything about it and the pair."""

PLAIN: tuple[str, ...] = (
    "{group} {reacted} when {topic} came up at the {event}",
    "{role} said that {topic} would have to wait until {month}",
    "{person} called the dispute over {topic} {adjective}",
    "more than {num} letters about {topic} reached {paper} that week",
    "the {event} went ahead as planned",
    "{org} said on {day} that it would look again at {topic}",
)
"""Whole clauses about nobody in the knowledge base, for documents."""

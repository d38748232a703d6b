"""A turn's cache outcome in words: its name, what happened, and what to do about it."""

from dataclasses import dataclass

from app.cache_outcomes import Group, Outcome
from app.web.languages import Language


@dataclass(frozen=True, slots=True)
class OutcomeWords:
    """`advice` is empty where there is nothing to do."""

    name: str
    sentence: str
    advice: str = ""


def outcome_words(outcome: Outcome, language: Language) -> OutcomeWords:
    return OutcomeWords(*_words(language)[outcome])


def group_words(group: Group, language: Language) -> str:
    return {
        Group.CANNOT_TELL: language.gettext("cannot tell"),
        Group.NOTHING_MISSED: language.gettext("nothing missed"),
        Group.ON_PURPOSE: language.gettext("recomputed on purpose"),
        Group.DEPLOYMENT: language.gettext("deployment"),
        Group.REQUEST: language.gettext("request"),
        Group.CAPACITY: language.gettext("capacity"),
        Group.GRANULARITY: language.gettext("rounding"),
        Group.UNKNOWN: language.gettext("unknown"),
    }[group]


def divergence_kind_words(kind: str, language: Language) -> str:
    """What the text looks like that was another one."""
    known = {
        "date": language.gettext("a date"),
        "time": language.gettext("a time"),
        "uuid": language.gettext("a unique id"),
        "placeholder": language.gettext("a placeholder"),
        "number": language.gettext("a number"),
        "whitespace": language.gettext("white space"),
    }
    return known.get(kind) or language.gettext("other text")


def _words(language: Language) -> dict[Outcome, tuple[str, ...]]:
    _ = language.gettext
    return {
        Outcome.PENDING: (_("pending"), _("The answer is not finished yet.")),
        Outcome.NOT_SENT: (_("not sent"), _("The request never reached a model server.")),
        Outcome.NOT_REPORTED: (
            _("not reported"),
            _("The model server did not say how much it read from its cache."),
            _("Run recount doctor: it says which fields this server reports."),
        ),
        Outcome.FIRST_TURN: (_("first turn"), _("There was no earlier turn to read from.")),
        Outcome.HIT: (_("hit"), _("Everything that could be read from the cache was read.")),
        Outcome.MODEL_SWITCHED: (
            _("model switched"),
            _("Another model answered than before, and models do not share what they have computed."),
        ),
        Outcome.SYSTEM_PROMPT_EDITED: (
            _("system prompt edited"),
            _("The system prompt was edited. It stands in front of everything, so all was computed again."),
        ),
        Outcome.HISTORY_TRIMMED: (
            _("history cut"),
            _("Older messages were left out to fit the context window, so what follows them was computed again."),
        ),
        Outcome.CACHING_OFF: (
            _("caching off"),
            _("The model server runs without a prefix cache."),
            _("Switch its prefix cache on."),
        ),
        Outcome.OTHER_REPLICA: (
            _("other replica"),
            _("Another server answered than the one that holds the earlier turns."),
            _("Look why the first server could not be used, and keep each conversation on one server."),
        ),
        Outcome.RESTARTED: (
            _("restarted"),
            _("The model server was started again, so its cache was empty."),
            _("Find out why it was restarted; its cache lives in memory only."),
        ),
        Outcome.VOLATILE_SYSTEM_PROMPT: (
            _("changing system prompt"),
            _("The system prompt changes again and again, and each time everything is computed again."),
            _("Take what changes by itself out of the system prompt. The time stands in every question already."),
        ),
        Outcome.TEMPLATE_REWROTE: (
            _("template rewrote"),
            _("The chat template wrote earlier messages in another way than before."),
            _("Use a chat template that leaves earlier messages as they were."),
        ),
        Outcome.RETOKENIZED: (
            _("other tokens"),
            _("The text is the same, but it was cut into other tokens than the model had said."),
            _("More memory for the tokens of answers on the server (--transcript-memory) avoids this."),
        ),
        Outcome.PREFIX_CHANGED: (
            _("prefix changed"),
            _("A message was sent in other words than before."),
            _("Run recount verify: what was sent once must be sent again unchanged."),
        ),
        Outcome.STILL_COMPUTING: (
            _("still computing"),
            _("The turn before had not computed its prompt to the end."),
        ),
        Outcome.EVICTED: (
            _("evicted"),
            _("The server gave up what it had computed to make room for other conversations."),
            _("Give the server more room (--kv-memory), or let fewer conversations run at a time."),
        ),
        Outcome.EXPIRED: (
            _("expired"),
            _("More time had passed than the model server keeps a prompt."),
            _("Nothing, unless the server can keep prompts for longer."),
        ),
        Outcome.BLOCK_ROUNDING: (
            _("rounding"),
            _("The model server reuses whole blocks only; what was missed is less than one of them."),
        ),
        Outcome.UNKNOWN: (
            _("unknown"),
            _("Less was read than expected, and nobody said why."),
            _("A server that reports its reasons, as the bundled one does, would tell."),
        ),
    }

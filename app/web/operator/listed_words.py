"""Words that several lists of operators share: kinds and states of turns, and the sign for what there is not."""

from app.web.languages import Language

NONE = "–"


def kind_names(language: Language) -> dict[str, str]:
    return {
        "question": language.gettext("question"),
        "edit": language.gettext("edit"),
        "regenerate": language.gettext("regenerate"),
        "continue": language.gettext("continue"),
        "retry": language.gettext("retry"),
    }


def state_names(language: Language) -> dict[str, str]:
    return {
        "queued": language.gettext("queued"),
        "running": language.gettext("running"),
        "completed": language.gettext("completed"),
        "stopped": language.gettext("stopped"),
        "interrupted": language.gettext("interrupted"),
        "failed": language.gettext("failed"),
    }

"""What a backend reads from its cache, for whom, and what it says of that; pure but for the chart."""

from app.accounting import capped, expected_read
from app.doctor.asking import Asked
from app.doctor.findings import Chart, marked
from app.settings import Backend
from inference_client import CacheState, MessageTokens


def nothing_said(chart: Chart) -> None:
    chart.warn(
        "cache",
        marked("The model said nothing, so no second turn could be asked."),
        marked("Run this again; if it says nothing again, look at its chat template."),
    )


def judge_cache(chart: Chart, backend: Backend, first: Asked, second: Asked) -> None:
    """The law: the second turn reads all that the first one left, but for what the reuse rule rounds away."""
    granularity, read = backend.reuse_rule.granularity, second.reported.cached_tokens
    expected = expected_read(first.reported, stop_reason=first.message.stop_reason)
    most = capped(expected.tokens, second.reported)
    if read is None or most is None:
        chart.warn(
            "cache",
            marked("Whether turn 2 read anything cannot be told: it is not reported."),
            marked("Have that server report its cached tokens."),
        )
    elif granularity is None:
        _judge_without_reuse(chart, read)
    elif most - read >= granularity:
        chart.fail(
            "cache",
            marked("Turn 2 read %(read)s tokens of %(expected)s that turn 1 had left; the rule is %(rule)s.%(reason)s"),
            marked(
                "Look whether its prefix cache is on, whether its address is one server, and whether reuse_rule fits."
            ),
            read=read,
            expected=most,
            rule=str(backend.reuse_rule),
            reason=_own_reason(second),
        )
    elif read < most:
        message = marked("Turn 2 read %(read)s tokens of %(expected)s; the rest is rounding by %(rule)s.")
        chart.ok("cache", message, read=read, expected=most, rule=str(backend.reuse_rule))
    elif expected.minimum:
        chart.ok("cache", marked("Turn 2 read %(read)s tokens of at least %(expected)s."), read=read, expected=most)
    else:
        chart.ok("cache", marked("Turn 2 read %(read)s tokens of %(expected)s."), read=read, expected=most)


def _judge_without_reuse(chart: Chart, read: int) -> None:
    if read:
        chart.warn(
            "cache",
            marked("Turn 2 read %(read)s tokens, but reuse_rule is none."),
            marked("Correct reuse_rule of this backend."),
            read=read,
        )
    else:
        chart.ok("cache", marked("Turn 2 read nothing, as configured."))


def _own_reason(turn: Asked) -> str:
    told = turn.message.prefix_cache
    return f" (prefix_cache: {told.outcome})" if told and told.outcome else ""


def judge_diagnostics(chart: Chart, backend: Backend, second: Asked) -> None:
    if not backend.diagnostics:
        return
    told = second.message.prefix_cache
    if told is None or told.outcome is None or "diagnostics" not in second.told:
        chart.fail(
            "diagnostics",
            marked("It does not say why it reads what it reads."),
            marked("Set diagnostics of this backend to false unless it is the bundled server."),
        )
    else:
        chart.ok("diagnostics", marked("It calls turn 2 a %(outcome)s."), outcome=told.outcome)


def judge_isolation(chart: Chart, turn: Asked) -> None:
    read, prompt = turn.reported.cached_tokens, turn.reported.prompt_tokens
    if read is None or prompt is None:
        chart.warn(
            "isolation",
            marked("Whether users share a cache cannot be told: it is not reported."),
            marked(
                "Set isolation of this backend to none unless its manual says that metadata.user_id separates them."
            ),
        )
    elif 2 * read > prompt:
        chart.fail(
            "isolation",
            marked("Another user read %(read)s of %(prompt)s tokens: metadata.user_id does not separate caches there."),
            marked("Set isolation of this backend to none."),
            read=read,
            prompt=prompt,
        )
    else:
        chart.ok("isolation", marked("Another user read %(read)s of %(prompt)s tokens."), read=read, prompt=prompt)


def judge_inspection(chart: Chart, turn: Asked, cache: CacheState, tokens: MessageTokens) -> None:
    if tokens.input_tokens != turn.reported.prompt_tokens:
        chart.fail(
            "inspection",
            marked("It shows a prompt of %(shown)s tokens, but has reported %(reported)s."),
            marked("Look into the log of that server."),
            shown=tokens.input_tokens,
            reported="–" if turn.reported.prompt_tokens is None else turn.reported.prompt_tokens,
        )
    else:
        message = marked("It shows %(tokens)s tokens of turn 1, and a pool of %(slots)s slots.")
        chart.ok("inspection", message, tokens=len(tokens.tokens), slots=cache.slots.total)

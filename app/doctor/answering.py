"""What a backend lists and how it streams and reports, beside what the settings say; pure but for the chart."""

from collections.abc import Sequence
from typing import Final

from app.doctor.asking import Asked
from app.doctor.findings import Chart, marked
from app.settings import Backend
from inference_client import Model

FEWEST_PIECES: Final = 4
AT_ONCE: Final = 0.05
"""Of the whole time: an answer whose pieces lie closer together was held back."""
AHEAD: Final = 0.3
"""Of the time to the first text: a `message_start` that comes so much sooner comes before the prefill."""


def judge_models(chart: Chart, backend: Backend, models: Sequence[Model]) -> str | None:
    """The model that is asked from now on; None where there is none."""
    listed = {model.id: model.context_window for model in models}
    model = backend.model or next(iter(listed), None)
    if model is None:
        advice = marked("Load a model there, or set model of this backend.")
        chart.fail("models", marked("It lists no model."), advice)
        return None
    if listed and model not in listed:
        chart.fail(
            "models",
            marked("It does not list the model %(model)s; it lists %(listed)s."),
            marked("Correct model of this backend, or load that model there."),
            model=model,
            listed=", ".join(listed),
        )
        return None
    _judge_window(chart, model, backend.context_window, listed.get(model))
    return model


def _judge_window(chart: Chart, model: str, configured: int | None, told: int | None) -> None:
    if configured is not None and told is not None and configured > told:
        chart.warn(
            "models",
            marked("%(model)s has a context window of %(told)s tokens, but %(configured)s are configured."),
            marked("Correct context_window of this backend."),
            model=model,
            told=told,
            configured=configured,
        )
    elif configured is None and told is None:
        chart.warn(
            "models",
            marked("%(model)s is there, but not how many tokens its context window has."),
            marked("Set context_window of this backend: without it no history is cut before it is too long."),
            model=model,
        )
    else:
        window = configured if told is None or configured is not None else told
        assert window is not None, "one of the two says it"
        chart.ok("models", marked("%(model)s, with a context window of %(window)s tokens."), model=model, window=window)


def judge_stream(chart: Chart, turn: Asked, noticeable: float) -> None:
    pieces = len(turn.texts)
    if turn.message.stop_reason is None:
        chart.fail(
            "streaming",
            marked("The stream ended without a stop_reason."),
            marked("Answers will be shown as interrupted; look into the log of that server, or of a proxy before it."),
        )
    elif pieces < FEWEST_PIECES or turn.texts[-1] < noticeable:
        chart.ok("streaming", marked("It streams; %(pieces)s pieces came too fast to tell more."), pieces=pieces)
    elif turn.texts[-1] - turn.texts[0] < AT_ONCE * turn.texts[-1]:
        chart.fail(
            "streaming",
            marked("All %(pieces)s pieces of the answer came at once, after %(seconds)s s: something holds them back."),
            marked("Switch off buffering in the proxy before that server."),
            pieces=pieces,
            seconds=f"{turn.texts[0]:.1f}",
        )
    else:
        chart.ok("streaming", marked("It streams: %(pieces)s pieces, one after the other."), pieces=pieces)


def judge_start(chart: Chart, backend: Backend, turn: Asked, noticeable: float) -> None:
    """Whether `message_start` comes at admission, as far as the wait for the text was long enough to tell."""
    if turn.started is None or not turn.texts or turn.texts[0] < noticeable:
        chart.ok("message_start", marked("The first text came too fast to tell whether message_start comes before it."))
        return
    early = turn.texts[0] - turn.started > AHEAD * turn.texts[0]
    together = turn.texts[0] - turn.started < AT_ONCE * turn.texts[0]
    if backend.early_message_start and together:
        chart.warn(
            "message_start",
            marked("message_start comes with the first text, but early_message_start is set."),
            marked("Set early_message_start of this backend to false: the wait would be split wrongly."),
        )
    elif early and not backend.early_message_start:
        chart.ok("message_start", marked("message_start comes before the prefill: early_message_start can be set."))
    else:
        chart.ok("message_start", marked("message_start comes as configured."))


def judge_usage(chart: Chart, turn: Asked) -> None:
    start, end = turn.usage_words()
    reported = turn.reported
    if reported.input_tokens is None or reported.output_tokens is None:
        chart.fail(
            "usage",
            marked("Usage is missing. message_start: %(start)s; message_delta: %(end)s."),
            marked("Look for an option of that server that reports usage in streams."),
            start=start,
            end=end,
        )
    elif reported.prompt_tokens is None:
        chart.warn(
            "usage",
            marked("The cache is not reported. message_start: %(start)s; message_delta: %(end)s."),
            marked("Look for an option of that server that reports cached tokens; until then they are unknown, not 0."),
            start=start,
            end=end,
        )
    else:
        chart.ok("usage", marked("message_start: %(start)s; message_delta: %(end)s."), start=start, end=end)

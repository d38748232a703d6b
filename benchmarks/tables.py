"""Results as text for people: one table per workload, columns per server. Knows nothing of how they were measured."""

from collections.abc import Sequence

from benchmarks.results import Figure, Results, TurnUsage
from inference_client import Usage

_NOTHING = "-"
_READING_HELP = (
    "Medians, and in brackets the ratio to the first server. ms and x: less is better; tok/s: more is better. "
    "Tokens: read from the cache / input / written to the cache, as the server reports them; ? is not reported."
)


def render(results: Results) -> str:
    """Everything that was measured and refused."""
    parts = [_READING_HELP]
    for workload in results.workloads:
        parts.append(_workload_table(results, workload))
        parts += _refusal_lines(results, workload)
    return "\n\n".join(parts) + "\n"


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Aligned text: the first column to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _workload_table(results: Results, workload: str) -> str:
    servers = results.servers
    usages = [usage for usage in results.usages if usage.workload == workload]
    turns = sorted({usage.turn for usage in usages})
    return columns(
        [
            [workload, "", *servers],
            *(
                [figure.label, figure.unit, *(_cell(results, figure, server) for server in servers)]
                for figure in results.figures(workload)
            ),
            ["exact reads", "", *(_exact(results, workload, server) for server in servers)],
            *(
                [f"tokens, turn {turn}", "r/i/w", *(_tokens(usages, server, turn) for server in servers)]
                for turn in turns
            ),
        ]
    )


def _cell(results: Results, figure: Figure, server: str) -> str:
    value, ratio = results.median(figure, server), results.ratio(figure, server)
    if value is None:
        refused = any(refusal.server == server for refusal in results.refusals if refusal.workload == figure.workload)
        return "refused" if refused else _NOTHING
    shown = f"{value:.2f}" if figure.unit == "x" else f"{value:.1f}"
    return shown if ratio is None else f"{shown} ({ratio:.2f})"


def _exact(results: Results, workload: str, server: str) -> str:
    exact, turns = results.exact_reads(workload, server)
    return f"{exact} of {turns}" if turns else _NOTHING


def _tokens(usages: Sequence[TurnUsage], server: str, turn: int) -> str:
    """Of the last chat that came to this turn; the others differ by a few tokens."""
    of_server = [usage.usage for usage in usages if usage.server == server and usage.turn == turn]
    return _counts(of_server[-1]) if of_server else _NOTHING


def _counts(usage: Usage) -> str:
    counts = (usage.cache_read_input_tokens, usage.input_tokens, usage.cache_creation_input_tokens)
    return "/".join("?" if count is None else str(count) for count in counts)


def _refusal_lines(results: Results, workload: str) -> list[str]:
    refusals = [refusal for refusal in results.refusals if refusal.workload == workload]
    reasons = dict.fromkeys((refusal.server, refusal.reason) for refusal in refusals)
    return [f"{server} refused {reason}" for server, reason in reasons]

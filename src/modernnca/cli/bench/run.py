"""Run a benchmark; what has a record already is not run again."""

from pathlib import Path
from typing import Annotated, Any

import typer
from tqdm import tqdm

from modernnca._named import named
from modernnca.bench.job import Record
from modernnca.bench.metrics import MAIN
from modernnca.bench.run import PRELOAD, Runner, plan
from modernnca.bench.store import Store
from modernnca.bench.suites import choose
from modernnca.cli.bench.texts import split_list
from modernnca.execute import EXECUTORS, Executor, Limits, Needs
from modernnca.peers import PEERS, peer


def run(
    store: Annotated[
        Path,
        typer.Option("--store", "-o", metavar="FOLDER", help="Keeps the records."),
    ],
    suite: Annotated[
        str, typer.Option(metavar="NAME", help="builtin, all, talent-300, tiny-45.")
    ] = "builtin",
    datasets: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Instead of a suite: a,b,c.")
    ] = None,
    methods: Annotated[
        str, typer.Option(metavar="NAMES", help="a,b,c or all; see `bench methods`.")
    ] = "modernnca,knn,lightgbm",
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", envvar="MODERNNCA_DATA", help="Where the tables are."
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(metavar="N", min=1, help="Final fits with so many seeds.")
    ] = 15,
    splits: Annotated[
        int,
        typer.Option(
            metavar="K", min=0, help="K random splits in place of the given one."
        ),
    ] = 0,
    trials: Annotated[
        str,
        typer.Option(
            metavar="N", help="Trials of tuning; 0: defaults; 0,100: both, compared."
        ),
    ] = "0",
    task: Annotated[
        str | None,
        typer.Option(metavar="TASK", help="Only binclass, multiclass, regression."),
    ] = None,
    max_rows: Annotated[
        int | None, typer.Option(metavar="N", help="Only tables of at most N rows.")
    ] = None,
    max_columns: Annotated[
        int | None, typer.Option(metavar="N", help="Only tables of at most N columns.")
    ] = None,
    executor: Annotated[
        str, typer.Option(metavar="NAME", help="pool, here or ray.")
    ] = "pool",
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes of the pool.")
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Of a Ray cluster; auto finds one."),
    ] = None,
    cpus: Annotated[
        float, typer.Option(metavar="N", help="CPUs that one job holds.")
    ] = 1,
    gpus: Annotated[
        float, typer.Option(metavar="N", help="GPUs (or a part) that one job holds.")
    ] = 0,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="For one fit.")
    ] = None,
    memory_limit: Annotated[
        float | None, typer.Option(metavar="GIB", help="For one job.")
    ] = None,
    tune_time: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="For one search.")
    ] = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="Run again what has failed before.")
    ] = False,
) -> None:
    """Fit every method on every table with every seed, and keep the records.

    Interrupt it when you like: the same command goes on where it ended. Tables are
    split 64/16/20 (or as given); settings are tuned on train and validation rows only.
    """
    names = list(PEERS) if methods == "all" else split_list(methods)
    cards = [peer(name) for name in names]
    chosen = choose(
        suite if datasets is None else split_list(datasets),
        data=data,
        task=task,
        max_rows=max_rows,
        max_columns=max_columns,
    )
    if chosen.missing:
        few = ", ".join(chosen.missing[:5])
        more = ", ..." if len(chosen.missing) > 5 else ""
        typer.echo(f"{len(chosen.missing)} tables are not here: {few}{more}", err=True)
    if not chosen.names:
        raise ValueError("No table is left to run on; see --data and the filters.")
    jobs = plan(
        chosen.names,
        [card.name for card in cards],
        splits=[f"random-{k}" for k in range(splits)] or ["given"],
        seeds=seeds,
        trials=_read_trials(trials),
    )
    kept = Store(store)
    for note in kept.notes:
        typer.echo(note, err=True)
    if retry:
        failed = [each for each in kept.records() if each.status != "done"]
        kept.forget([record.job.key for record in failed])
    memory = None if memory_limit is None else int(memory_limit * 2**30)
    runner = Runner(
        kept,
        _executor(executor, workers, address),
        data=None if data is None else data.absolute(),
        limits=Limits(time_limit, memory),
        needs=Needs(cpus, gpus),
        search_seconds=tune_time,
    )
    missing = len(runner.missing(jobs))
    typer.echo(
        f"{len(chosen.names)} tables, {len(cards)} methods: {len(jobs)} fits, "
        f"{len(jobs) - missing} of them done before.",
        err=True,
    )
    n_failed = _run(runner, jobs, missing)
    typer.echo(f"{len(jobs)} records are in {store}.")
    if n_failed:
        typer.echo(f"{n_failed} failed; `modernnca bench status {store}` says why.")
    typer.echo(f"Go on with: modernnca bench report {store} -o report")


def _run(runner: Runner, jobs: list, missing: int) -> int:
    """Run with a progress bar; the number of fits that failed."""
    n_failed = 0
    with tqdm(total=missing, unit="fit", dynamic_ncols=True) as bar:

        def tell(record: Record) -> None:
            nonlocal n_failed
            n_failed += record.job.kind == "fit" and record.status != "done"
            bar.set_postfix_str(_in_words(record))
            bar.update(record.job.kind == "fit")

        runner.run(jobs, tell)
    return n_failed


def _in_words(record: Record) -> str:
    job = record.job
    metric = MAIN.get(record.task, "")
    said = f"{metric} {record.scores[metric]:.4g}" if record.scores else record.status
    return f"{job.dataset} {job.method} {said}"


def _read_trials(text: str) -> list[int]:
    try:
        numbers = [int(part) for part in split_list(text)]
    except ValueError:
        numbers = [-1]
    if min(numbers) < 0:
        raise ValueError(f"--trials must be numbers like 0,100; got {text!r}.")
    return numbers


def _executor(name: str, workers: int | None, address: str | None) -> Executor:
    build = named("executor", name, EXECUTORS)
    options: dict[str, Any] = {}
    if name == "pool":
        options = {"n_workers": workers, "preload": PRELOAD}
    elif name == "ray":
        options = {"address": address}
    return build(**options)

"""`make bench`: every ratio in one table, measured now, on this machine."""

from benchmarks.measure import Row, print_table, use_one_thread


def main() -> None:
    use_one_thread()
    from benchmarks import model, tokens, widgets  # after the threads are set

    rows: list[Row] = []
    for group in (tokens, model, widgets):
        for row in group.rows():
            print(f"measured: {row.what}", flush=True)
            rows.append(row)
    print()
    print_table(rows)


if __name__ == "__main__":
    main()

"""The page of `sparselin explore`, for marimo's server."""

# /// script
# [tool.marimo.display]
# theme = "system"
# ///

import marimo

app = marimo.App(width="full", app_title="sparselin: the dual polytope")


@app.cell(hide_code=True)
def _() -> None:
    import marimo as mo

    from sparselin.plots.explorer.widget import Explorer

    mo.ui.anywidget(Explorer(in_address=True))


if __name__ == "__main__":
    app.run()

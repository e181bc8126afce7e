"""Settings of Sphinx. `python -m docs.build` builds the site; nothing is fetched."""

import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import polystein  # noqa: E402
from docs.build import inventories  # noqa: E402
from docs.generated_pages import statuses  # noqa: E402

project = "polystein"
author = "The polystein developers"
copyright = author
version = release = polystein.__version__
# Not "en_GB": that translation of Sphinx has no plurals, and a search ends with an error.
language = "en"

extensions = [
    "docs.mathml",
    "docs.generated_pages",
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "_templates", "inventories"]
templates_path = ["_templates"]

# Markdown.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
myst_substitutions = {"version": version}
myst_heading_anchors = 4

# Tutorials. Those in Markdown are executed by every build. Notebooks show their stored outputs,
# which `python -m docs.notebooks` writes. What a cell warns of is an error, as all warnings are.
nb_execution_mode = "force"
nb_execution_excludepatterns = ["*.ipynb"]
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_timeout = 300  # seconds for one cell; on an idle core a tutorial takes 30 at most
nb_output_stderr = "warn"
nb_merge_streams = True
nb_ipywidgets_js = {}  # scripts from elsewhere

# Docstrings: single backticks are names where there is such a name, and code elsewhere.
default_role = "py:obj"
autosummary_generate = True
autosummary_imported_members = True
autosummary_context = {"status": statuses()}  # every name says whether it is stable
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Links to other libraries, from inventories that are kept here.
intersphinx_mapping = inventories()
intersphinx_timeout = 1

# Pages.
html_theme = "pydata_sphinx_theme"
html_title = "polystein"
html_static_path = ["_static"]
html_context = {"default_mode": "auto"}  # light or dark, as the browser says
html_css_files = ["site.css"]
html_js_files = ["labels.js"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "search_bar_text": "Search these pages",
}
html_sidebars = {"index": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app: Sphinx) -> None:
    """Leave out the fields of named tuples: the docstring of the class says what they are."""

    def skipped(app: Sphinx, what: str, name: str, member: object, skip: bool, options: Any) -> Any:
        return True if type(member).__name__ == "_tuplegetter" else None

    app.connect("autodoc-skip-member", skipped)

"""Read tables with named columns into pandas, from texts such as .csv, Excel workbooks and Parquet files."""

from sparselin.studies.common.tables.base import BadTable as BadTable
from sparselin.studies.common.tables.base import DataTable as DataTable
from sparselin.studies.common.tables.base import ReadingNotes as ReadingNotes
from sparselin.studies.common.tables.base import ReadingOptions as ReadingOptions
from sparselin.studies.common.tables.base import columns_of as columns_of
from sparselin.studies.common.tables.base import positions as positions
from sparselin.studies.common.tables.base import short as short
from sparselin.studies.common.tables.base import some as some
from sparselin.studies.common.tables.base import split as split
from sparselin.studies.common.tables.files import is_parquet as is_parquet
from sparselin.studies.common.tables.files import is_text as is_text
from sparselin.studies.common.tables.files import numbers_of as numbers_of
from sparselin.studies.common.tables.files import read_table as read_table
from sparselin.studies.common.tables.files import with_numbers as with_numbers
from sparselin.studies.common.tables.numerals import is_number as is_number

/** Table with a header row. The first cell of each row is the header of the row. */
import { type ComponentChild, h } from 'preact'

/** `name`: of the region that scrolls. `rows`: cells in the order of the columns. */
type Props = {
  readonly name: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly ComponentChild[])[]
}

export const Table = ({ name, columns, rows }: Props) =>
  h(
    'div',
    { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': name },
    h(
      'table',
      null,
      h(
        'thead',
        null,
        h(
          'tr',
          null,
          columns.map((column) => h('th', { key: column, scope: 'col' }, column)),
        ),
      ),
      h(
        'tbody',
        null,
        rows.map(([first, ...cells], i) =>
          h(
            'tr',
            { key: i },
            h('th', { scope: 'row' }, first),
            cells.map((cell, j) => h('td', { key: j, dir: 'auto' }, cell)),
          ),
        ),
      ),
    ),
  )

/** Tables with a header row, in a region that scrolls. */
import { type ComponentChild, type ComponentChildren, h } from 'preact'

type FrameProps = {
  /** Name of the region. */
  readonly name: string
  /** Cells of the header row. */
  readonly columns: readonly ComponentChild[]
  /** One or more `tbody`. */
  readonly children?: ComponentChildren
}

export const TableFrame = ({ name, columns, children }: FrameProps) =>
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
          columns.map((column, i) => h('th', { key: i, scope: 'col' }, column)),
        ),
      ),
      children,
    ),
  )

/** `rows`: cells in the order of the columns. */
type Props = Pick<FrameProps, 'name'> & {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly ComponentChild[])[]
}

/** Table in which the first cell of each row is the header of the row. */
export const Table = ({ name, columns, rows }: Props) =>
  h(
    TableFrame,
    { name, columns },
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
  )

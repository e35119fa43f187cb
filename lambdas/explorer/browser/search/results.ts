/** Result of a search as a table: columns that the person chooses, sorting, groups, and CSV. */
import { type ComponentChild, h } from 'preact'
import { useState } from 'preact/hooks'
import { storedJson, storeJson } from '../browser-storage.ts'
import { Paging } from '../components/paging.ts'
import { Issues, Problem } from '../components/problem.ts'
import { CopyButton } from '../components/request-card.ts'
import { TableFrame } from '../components/table.ts'
import { isDateText, originalOf } from '../datatypes/date-time.ts'
import { isReference, targetPathOf } from '../datatypes/reference.ts'
import { shortText } from '../datatypes/value.ts'
import { type Answer, curlOf } from '../http.ts'
import { isTree, type Json, type Tree, textOf, treesOf } from '../json.ts'
import { linkTo } from '../place.ts'
import { saveFile } from '../save-file.ts'
import { columnsOf, elementsOf, sortParameterOf } from '../types.ts'
import { ignoredNames, scopeOf, typeFilterOf } from './query-uses.ts'
import { type Section, sectionsOf } from './search-groups.ts'

/** `path`: of the search, below the base. `type`: undefined if the search has several types. */
type ResultProps = { readonly answer: Answer; readonly path: string; readonly query: string; readonly type: string | undefined }

export function Results({ answer, path, query, type }: ResultProps) {
  const bundle = isTree(answer.body) ? answer.body : {}
  const entries = treesOf(bundle.entry)
  const resources = entries.map(({ resource }) => resource).filter(isTree)
  const outcomes = resources.filter(({ resourceType }) => resourceType === 'OperationOutcome')
  const shown = resources.filter((resource) => !outcomes.includes(resource))
  const matches = entries.filter(({ search }) => !isTree(search) || search.mode !== 'include').map(({ resource }) => resource)
  const ignored = ignoredNames(bundle, query).map((name) => ({ severity: 'warning', details: { text: `The server ignored ${name}` } }))
  const issues = [...ignored, ...outcomes.flatMap(({ issue }) => treesOf(issue))]
  const [typeFilter, scope] = [typeFilterOf({ path, query, type }), scopeOf({ path, query, type })]
  const sections = sectionsOf(entries.filter(({ resource }) => isTree(resource) && !outcomes.includes(resource)))
  const { columns, setColumns, error } = useColumns(type, shown)
  return h(
    'div',
    null,
    issues.length > 0 && h(Issues, { issues }),
    h(
      'p',
      { class: 'facts' },
      h('span', { role: 'status' }, totalText(bundle, shown.length)),
      h('span', null, `${answer.ms} ms`),
      h(Columns, { shown, columns, setColumns }),
      h(CopyButton, { text: curlOf(answer.request), name: 'Copy curl' }),
      typeFilter !== undefined && h(CopyButton, { text: typeFilter, name: 'Copy _typeFilter' }),
      scope !== undefined && h(CopyButton, { text: scope, name: 'Copy scope' }),
      h(CsvLink, { name: type ?? 'resources', columns, shown }),
    ),
    error !== undefined && h(Problem, { error }),
    shown.length === 0
      ? h('p', { class: 'nothing' }, Number(bundle.total) > 0 ? 'This response has no resources.' : 'No resource matches.')
      : h(ResultTable, { sections, matches: new Set(matches.filter(isTree)), columns, path, query, hasTypes: type === undefined }),
    h(Paging, { bundle }),
  )
}

const totalText = ({ total }: Tree, shown: number): string =>
  total === undefined ? `${shown} shown, total unknown` : `${Number(textOf(total)).toLocaleString('en')} in all, ${shown} shown`

const STORED = 'fhir-explorer-columns-'

type StoredColumns = {
  readonly columns: readonly string[]
  readonly setColumns: (columns: readonly string[]) => void
  /** Set if the browser did not store the latest choice. It then holds until the person leaves the page. */
  readonly error: unknown
}

/** Returns the columns of a type, which the browser stores. Ignores a damaged stored value. */
function useColumns(type: string | undefined, shown: readonly Tree[]): StoredColumns {
  const key = `${STORED}${type ?? ''}`
  const [chosen, setChosen] = useState<readonly string[] | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const setColumns = (columns: readonly string[]) => {
    setChosen(columns)
    try {
      storeJson(key, columns)
      setError(undefined)
    } catch (failure) {
      setError(failure)
    }
  }
  return { columns: chosen ?? storedColumns(key) ?? columnsOf(shown), setColumns, error }
}

function storedColumns(key: string): readonly string[] | undefined {
  const stored = storedJson(key)
  return Array.isArray(stored) && stored.every((each) => typeof each === 'string') ? [...new Set<string>(stored)] : undefined
}

type ColumnProps = {
  readonly shown: readonly Tree[]
  readonly columns: readonly string[]
  readonly setColumns: (columns: readonly string[]) => void
}

function Columns({ shown, columns, setColumns }: ColumnProps) {
  const names = [...new Set([...columns, ...elementsOf(shown)])]
  const toggle = (name: string) => setColumns(columns.includes(name) ? columns.filter((each) => each !== name) : [...columns, name])
  return h(
    'details',
    { class: 'columns' },
    h('summary', null, 'Columns'),
    h(
      'fieldset',
      null,
      h('legend', null, 'Columns of this table'),
      names.map((name) =>
        h(
          'label',
          { key: name },
          h('input', { type: 'checkbox', checked: columns.includes(name), onChange: () => toggle(name) }),
          ' ',
          name,
        ),
      ),
    ),
  )
}

type TableProps = {
  readonly sections: readonly Section[]
  readonly matches: ReadonlySet<Tree>
  readonly columns: readonly string[]
  readonly path: string
  readonly query: string
  readonly hasTypes: boolean
}

function ResultTable({ sections, matches, columns, path, query, hasTypes }: TableProps) {
  return h(
    TableFrame,
    { name: 'Results', columns: ['id', ...columns.map((name) => h(SortLink, { name, path, query }))] },
    sections.map(({ heading, resources }, i) =>
      h(
        'tbody',
        { key: i },
        heading !== undefined &&
          h('tr', { class: 'group' }, h('th', { scope: 'rowgroup', colSpan: columns.length + 1, dir: 'auto' }, heading)),
        resources.map((resource, j) =>
          h(
            'tr',
            { key: j, class: matches.has(resource) ? undefined : 'included' },
            h(
              'td',
              { class: 'id' },
              h('a', { href: linkTo(`/${resource.resourceType}/${resource.id}`) }, idText(resource, hasTypes || !matches.has(resource))),
            ),
            columns.map((name) => h(Cell, { key: name, value: elementOf(resource, name) })),
          ),
        ),
      ),
    ),
  )
}

/** Characters from which a cell may be cut, because it shows three lines. */
const LONG = 60

/** Cell with a value in one line. A reference is a link. On hover a date shows its original, and a long text all of it. */
function Cell({ value }: { readonly value: Json | undefined }) {
  const text = shortText(value)
  const path = isTree(value) && isReference(value) ? targetPathOf(value) : undefined
  const isDate = typeof value === 'string' && isDateText(value)
  const title = originalOf(value) ?? (text.length < LONG ? undefined : text)
  const props = { dir: 'auto', class: isDate ? 'date' : undefined, title } as const
  return h('td', props, path === undefined ? h('div', { class: 'cut' }, text) : h('a', { href: linkTo(path) }, text))
}

/** Returns the value of an element. A column may have a name that every object inherits. */
const elementOf = (resource: Tree, name: string): Json | undefined => (Object.hasOwn(resource, name) ? resource[name] : undefined)

const idText = ({ resourceType, id }: Tree, hasType: boolean): string => (hasType ? `${resourceType}/${id}` : String(id))

function SortLink({ name, path, query }: { readonly name: string; readonly path: string; readonly query: string }): ComponentChild {
  const parameter = sortParameterOf(name)
  if (parameter === undefined) return name
  const parameters = new URLSearchParams(query)
  const before = parameters.get('_sort')
  const next = before === parameter ? `-${parameter}` : parameter
  parameters.set('_sort', next)
  const arrow = before === parameter ? ' ↑' : before === `-${parameter}` ? ' ↓' : ''
  return h('a', { href: linkTo(`${path}?${parameters}`), title: `Sort by ${next}` }, `${name}${arrow}`)
}

/** Button that saves the shown rows as CSV. */
function CsvLink({
  name,
  columns,
  shown,
}: {
  readonly name: string
  readonly columns: readonly string[]
  readonly shown: readonly Tree[]
}) {
  if (shown.length === 0) return null
  const save = () => {
    const rows = [
      ['id', ...columns],
      ...shown.map((resource) => ['id', ...columns].map((column) => shortText(elementOf(resource, column)))),
    ]
    saveFile(`${name}.csv`, 'text/csv', [BYTE_ORDER_MARK, csvOf(rows)])
  }
  return h('button', { type: 'button', onClick: save }, 'Save as CSV')
}

/** Excel reads a file that begins with this mark as UTF-8. */
const BYTE_ORDER_MARK = '\ufeff'

/**
 * Returns the rows as CSV. An apostrophe precedes each text that a spreadsheet would run as a formula. Negative numbers stay as they are.
 * https://www.rfc-editor.org/rfc/rfc4180
 */
const csvOf = (rows: readonly (readonly string[])[]): string =>
  rows.map((row) => row.map((cell) => `"${(isFormula(cell) ? `'${cell}` : cell).replaceAll('"', '""')}"`).join(',')).join('\r\n')

const isFormula = (cell: string): boolean => /^[=+\-@\t\r]/.test(cell) && !/^-\d+(?:\.\d+)?$/.test(cell)

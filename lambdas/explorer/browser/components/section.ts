/** Section of a page that shows one entry of a batch: a search, or the reason for which there is no answer. */
import { type ComponentChild, type ComponentChildren, h } from 'preact'
import { originalOf } from '../datatypes/date-time.ts'
import { type Answer, Refusal, readAll } from '../http.ts'
import { isTree, type Json, type Tree, textOf, treesOf } from '../json.ts'
import { linkTo } from '../place.ts'
import { seenAs } from '../see-as.ts'
import { answersOf, useLoaded } from './loaded.ts'
import { Problem, titleOf } from './problem.ts'
import { TableFrame } from './table.ts'

/** Search of a section. `path`: the page with all matches. `elements`: those that the section shows. */
export type Search = { readonly path: string; readonly elements: string }

const COUNT = 100

/** Returns the path of a search for a batch: the first matches, and the elements that are shown. */
export const requestOf = ({ path, elements }: Search): string => `${path}&_count=${COUNT}&_elements=${elements}`

type Props = {
  readonly title: string
  readonly search: Search
  readonly entry: Tree | undefined
  readonly answer: Answer
  /** Matches for the person's own access, while a view is active. */
  readonly own?: number | undefined
  /** Shows the matches. There is at least one. `bundle`: with the included resources. */
  readonly show: (matches: readonly Tree[], bundle: Tree) => ComponentChild
}

export function Section({ title, search, entry, answer, own, show }: Props) {
  const error = refusalOf(entry, answer)
  const bundle = isTree(entry?.resource) ? entry.resource : {}
  const matches = matchesOf(bundle)
  const total = textOf(bundle.total) ?? (matches.length === 0 ? '0' : undefined)
  return h(
    'section',
    { 'aria-label': title },
    h('h2', null, title, ' ', h(Total, { total: error === undefined ? total : undefined, own: isFailure(error) ? undefined : own })),
    error !== undefined && h(Denied, { error }),
    error === undefined && (matches.length === 0 ? h(Nothing, { own }) : show(matches, bundle)),
    matches.length < Number(total) && h('p', null, h('a', { href: linkTo(search.path) }, `All ${total}`)),
  )
}

/** Number of matches. In a view, also the number that the person's own access finds, unless it is 0. */
export function Total({ total, own }: { readonly total: string | undefined; readonly own: number | undefined }) {
  const text = own === undefined || own === 0 ? total : `${total ?? 0} of ${own} shown to this view`
  return text === undefined ? null : h('span', { class: 'quiet' }, text)
}

/** Whether there is an error other than missing access (403). */
export const isFailure = (error: unknown): boolean => error !== undefined && !(error instanceof Refusal && error.answer.status === 403)

type OwnTotals = { readonly totals: readonly (number | undefined)[]; readonly answers: readonly Answer[] }

/**
 * While a view is active, counts the matches of searches with the person's own access, by one batch. `paths`: of the searches, with a query.
 * A total is undefined without a view, until the response arrives, and if the person may not search.
 */
export function useOwnTotals(paths: readonly string[], key: string): OwnTotals {
  const isView = seenAs.value !== undefined
  const load = async () =>
    isView
      ? readAll(
          paths.map((path) => `${path}&_summary=count`),
          true,
        )
      : undefined
  const [loaded] = useLoaded(load, `${key} ${isView}`)
  if (loaded.state === 'done' && loaded.data === undefined) return { totals: [], answers: [] }
  const entries = loaded.state === 'done' ? (loaded.data?.entries ?? []) : []
  const totals = entries.map(({ resource }) =>
    isTree(resource) && resource.total !== undefined ? Number(textOf(resource.total)) : undefined,
  )
  return { totals, answers: answersOf(loaded, (data) => data!.answer) }
}

/** Section without matches. Resources may exist that the access of the person or of the view hides. `own`: as for a section. */
export function Nothing({ own }: Pick<Props, 'own'>) {
  const inView = own === 0 ? 'Nothing found. Your own access finds nothing either.' : `Nothing is visible to ${seenAs.value?.name}.`
  return h('p', { class: 'quiet' }, seenAs.value === undefined ? 'Nothing found.' : inView)
}

/** Shows an error. Missing rights are a fact about the person, not a failure of the page. */
export function Denied({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  if (error instanceof Refusal && error.answer.status === 403) return h('p', { class: 'quiet' }, titleOf(error, 403, error.answer.seenAs))
  return h(Problem, retry === undefined ? { error } : { error, retry })
}

/** Returns the matches of a search, without included resources and outcomes. */
export const matchesOf = (bundle: Tree): readonly Tree[] =>
  treesOf(bundle.entry)
    .filter(({ search }) => !isTree(search) || search.mode === 'match')
    .map(({ resource }) => resource)
    .filter(isTree)

/** Returns the error of an entry, or undefined if it succeeded. */
export function refusalOf(entry: Tree | undefined, answer: Answer): Refusal | undefined {
  const response = isTree(entry?.response) ? entry.response : {}
  const status = Number.parseInt(textOf(response.status) ?? '0', 10)
  return status >= 200 && status < 400 ? undefined : new Refusal({ ...answer, status, body: response.outcome ?? entry?.resource })
}

const FIRST = 8

/** List that shows its first items. The others appear on request. */
export function Folded({ items }: { readonly items: readonly ComponentChild[] }) {
  const rest = items.length - FIRST
  return h(
    'div',
    null,
    h('ul', { class: 'facts-list' }, items.slice(0, FIRST)),
    rest > 0 && h('details', null, h('summary', null, `${rest} more`), h('ul', { class: 'facts-list' }, items.slice(FIRST))),
  )
}

/** Text with dates in the time zone of the person. `original`: the dates as the resource has them. */
export type Dated = { readonly text: string; readonly original: string | undefined }

type FactProps = { readonly resource: Tree; readonly name: string; readonly facts: readonly (string | Dated)[] }

/** Item of a list: the name as a link to the resource, and facts about it. Empty facts are left out. */
export function Fact({ resource, name, facts }: FactProps) {
  const path = `${resource.resourceType}/${resource.id}`
  const shown = facts
    .map((each) => (typeof each === 'string' ? { text: each, original: undefined } : each))
    .filter(({ text }) => text !== '')
  return h(
    'li',
    null,
    h('a', { href: linkTo(`/${path}`), dir: 'auto' }, name || path),
    ' ',
    h(
      'span',
      { class: 'quiet', dir: 'auto' },
      shown.map(({ text, original }, i) => [i > 0 && ' · ', original === undefined ? text : h('time', { title: original }, text)]),
    ),
  )
}

/** `date`: date or Period that the text shows. The cell shows its original on hover. */
export type Column = {
  readonly name: string
  readonly value: (resource: Tree) => ComponentChildren
  readonly date?: (resource: Tree) => Json | undefined
  readonly isNumber?: boolean
}

/** Table of resources. The first column is a link to the resource. */
export function ResourceTable({
  label,
  columns,
  rows,
}: {
  readonly label: string
  readonly columns: readonly Column[]
  readonly rows: readonly Tree[]
}) {
  const cell = (resource: Tree, { name, value, date, isNumber }: Column, i: number) => {
    const path = `${resource.resourceType}/${resource.id}`
    const shown = value(resource)
    return h(
      'td',
      { key: name, dir: 'auto', class: isNumber ? 'number' : undefined, title: originalOf(date?.(resource)) },
      i === 0 ? h('a', { href: linkTo(`/${path}`) }, shown || path) : shown,
    )
  }
  return h(
    TableFrame,
    { name: `Table: ${label}`, columns: columns.map(({ name, isNumber }) => (isNumber ? h('span', { class: 'number' }, name) : name)) },
    h(
      'tbody',
      null,
      rows.map((resource) =>
        h(
          'tr',
          { key: resource.id },
          columns.map((column, i) => cell(resource, column, i)),
        ),
      ),
    ),
  )
}

/** Difference between two versions of a resource. */
import { h } from 'preact'
import { type Answer, Refusal, read } from '../http.ts'
import { isTree, type Json, type Tree } from '../json.ts'
import { tenant } from '../session.ts'
import { type Difference, differencesOf, jsonText } from './json-difference.ts'
import { Show, useLoaded } from './loaded.ts'
import { Table } from './table.ts'

/**
 * `from`, `to`: ids of the versions. `path`: of the resource. `known`: versions that are loaded, by id; undefined for a deletion. Other versions
 * are read from the server, and `add` receives the answers.
 */
type Props = {
  readonly from: string
  readonly to: string
  readonly path: string
  readonly known: ReadonlyMap<string, Tree | undefined>
  readonly add: (answer: Answer) => void
}

type Pair = { readonly before: Tree | undefined; readonly after: Tree | undefined }

export function VersionDifference({ from, to, path, known, add }: Props) {
  const versionOf = async (id: string): Promise<Tree | undefined> => {
    if (known.has(id)) return known.get(id)
    const answer = await read(`${path}/_history/${encodeURIComponent(id)}`).catch(deletionOf)
    add(answer)
    return answer.status === 410 || !isTree(answer.body) ? undefined : answer.body
  }
  const load = async (): Promise<Pair> => {
    const [before, after] = await Promise.all([versionOf(from), versionOf(to)])
    return { before, after }
  }
  const [loaded, retry] = useLoaded(load, `${path} ${from} ${to} ${tenant.value}`)
  return h(
    'section',
    null,
    h('h2', null, `Difference from version ${from} to version ${to}`),
    h(Show<Pair>, { loaded, retry, show: ({ before, after }) => h(Differences, { from, to, before, after }) }),
  )
}

/** Returns the answer of a version that is a deletion. Throws every other error. */
function deletionOf(error: unknown): Answer {
  if (error instanceof Refusal && error.answer.status === 410) return error.answer
  throw error
}

type DifferenceProps = Pair & { readonly from: string; readonly to: string }

function Differences({ from, to, before, after }: DifferenceProps) {
  const deleted = [...(before === undefined ? [from] : []), ...(after === undefined ? [to] : [])]
  if (deleted.length > 0) return h('p', null, deleted.map((id) => `Version ${id} is a deletion.`).join(' '))
  const differences = differencesOf(before, after).filter(({ path }) => !STAMPS.has(path))
  if (differences.length === 0) return h('p', null, 'No element differs.')
  return h(Table, {
    name: 'Differences',
    columns: ['Element', 'Kind', `Version ${from}`, `Version ${to}`],
    rows: differences.map((difference) => rowOf(difference)),
  })
}

/** Elements that differ between any two versions. */
const STAMPS: ReadonlySet<string> = new Set(['meta.versionId', 'meta.lastUpdated'])

const rowOf = ({ path, kind, before, after }: Difference) => [h('code', null, path), kind, codeOf('del', before), codeOf('ins', after)]

const codeOf = (name: string, value: Json | undefined) => value !== undefined && h(name, { class: 'value' }, jsonText(value))

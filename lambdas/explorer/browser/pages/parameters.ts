/** Custom search parameters, for administrators: their state, a trial of an expression, and a form that defines a parameter. */
import { h } from 'preact'
import { useState } from 'preact/hooks'
import { AdministratorsOnly } from '../components/administrators-only.ts'
import { ExpressionTrial } from '../components/expression-trial.ts'
import { Frame } from '../components/frame.ts'
import { answersOf, type Loaded, Show, useLoaded } from '../components/loaded.ts'
import { ParameterForm } from '../components/parameter-form.ts'
import { usePolled } from '../components/polled.ts'
import { Problem } from '../components/problem.ts'
import { OffInView } from '../components/see-as.ts'
import { Table } from '../components/table.ts'
import { shortText } from '../datatypes/value.ts'
import { type Answer, read } from '../http.ts'
import { type IndexStatus, isIndexing, type ParameterState, progressText, readIndexStatus } from '../index-status.ts'
import { isTree, type Tree, textOf, treesOf } from '../json.ts'
import { linkTo } from '../place.ts'
import { seenAs } from '../see-as.ts'
import { session, tenant } from '../session.ts'

export const ParametersPage = () =>
  session.value.isAdministrator ? h(Parameters, null) : h(AdministratorsOnly, { title: 'Search parameters' })

function Parameters() {
  const [loaded, retry] = useLoaded(() => read('/SearchParameter?_count=100'), `parameters ${tenant.value}`)
  const [status, retryStatus] = usePolled(readIndexStatus, `parameter states ${tenant.value}`, isIndexing)
  const [others, setOthers] = useState<readonly Answer[]>([])
  const add = (answer: Answer) => setOthers((before) => [...before, answer])
  const resources = loaded.state === 'done' ? parametersOf(loaded.data) : []
  const done = () => {
    retry()
    retryStatus()
  }
  const answers = [...answersOf(loaded, (answer) => answer), ...answersOf(status, ({ answer }) => answer), ...others]
  return h(
    Frame,
    { title: 'Search parameters', answers },
    h(Show<Answer>, { loaded, retry, show: () => h(ParameterTable, { resources, status }) }),
    status.state === 'failed' && h(Problem, { error: status.error, retry: retryStatus }),
    status.state === 'done' && h(Rebuilds, { status: status.data }),
    h('h2', null, 'Try an expression'),
    h(ExpressionTrial, { add }),
    h('h2', null, 'Define a parameter'),
    seenAs.value === undefined ? h(ParameterForm, { defined: resources.map(({ id }) => textOf(id) ?? ''), done, add }) : h(OffInView, null),
  )
}

const parametersOf = ({ body }: Answer): readonly Tree[] =>
  treesOf(isTree(body) ? body.entry : undefined)
    .map(({ resource }) => resource)
    .filter((resource): resource is Tree => isTree(resource) && resource.resourceType === 'SearchParameter')

type TableProps = { readonly resources: readonly Tree[]; readonly status: Loaded<IndexStatus> }

function ParameterTable({ resources, status }: TableProps) {
  if (resources.length === 0) return h('p', { class: 'nothing' }, 'No parameter is defined.')
  const states = status.state === 'done' ? status.data.parameters : undefined
  return h(Table, {
    name: 'Defined parameters',
    columns: ['Code', 'Types', 'Type', 'Expression', 'State'],
    rows: resources.map(({ id, code, base, type, expression }) => [
      h('a', { href: linkTo(`/SearchParameter/${id}`) }, shortText(code) || String(id)),
      shortText(base),
      shortText(type),
      h('code', null, textOf(expression) ?? ''),
      states === undefined ? '…' : stateText(states.filter((state) => state.id === id)),
    ]),
  })
}

/** Returns the state of a parameter for its types. A SearchParameter that the index does not use has no states. */
function stateText(states: readonly ParameterState[]): string {
  const building = states.filter(({ state }) => state !== 'active').map(({ base }) => base)
  if (states.length === 0) return 'not indexed'
  return building.length === 0 ? 'active' : `building for ${building.join(', ')}`
}

function Rebuilds({ status: { rebuilds } }: { readonly status: IndexStatus }) {
  if (rebuilds.length === 0) return null
  const texts = rebuilds.map((rebuild) => `${rebuild.type} ${progressText(rebuild)}`)
  return h('p', { role: 'status' }, `Running rebuilds: ${texts.join('; ')}.`)
}

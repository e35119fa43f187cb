/** First page: number of resources of each type, and for administrators the status of the index and the number of running exports. */
import { h } from 'preact'
import { useState } from 'preact/hooks'
import { resourceTypes } from '../../../fhir/resource-types.ts'
import { Frame } from '../components/frame.ts'
import { answersOf, Show, useLoaded } from '../components/loaded.ts'
import { Problem } from '../components/problem.ts'
import { RunningExports } from '../components/running-exports.ts'
import { useTask } from '../components/task.ts'
import { type Answer, isDenied, noted, readAll } from '../http.ts'
import { lagText, progressText, readIndexStatus } from '../index-status.ts'
import { isTree, type Tree } from '../json.ts'
import { linkTo } from '../place.ts'
import { session, tenant } from '../session.ts'
import { DEPLOYMENT, VERSION } from '../settings.ts'
import { MAIN_TYPES } from '../types.ts'

export type Count = { readonly type: string; readonly total: number | undefined; readonly problem: string | undefined }
type Counts = { readonly answer: Answer; readonly counts: readonly Count[] }

/** Counts the resources of these types with one batch. */
export async function countTypes(types: readonly string[]): Promise<Counts> {
  const { answer, entries } = await readAll(types.map((type) => `${type}?_summary=count`))
  return { answer, counts: types.map((type, i) => countOf(type, entries[i])) }
}

function countOf(type: string, entry: Tree | undefined): Count {
  const resource = isTree(entry?.resource) ? entry.resource : {}
  const total = typeof resource.total === 'number' ? resource.total : undefined
  return { type, total, problem: total !== undefined ? undefined : isDenied(entry) ? 'no access' : 'unknown' }
}

export function HomePage() {
  const [loaded, retry] = useLoaded(() => countTypes(MAIN_TYPES), `home ${tenant.value}`)
  const [others, setOthers] = useState<readonly Answer[]>([])
  const add = (answer: Answer) => setOthers((before) => [...before, answer])
  const answers = [...answersOf(loaded, ({ answer }) => answer), ...others]
  return h(
    Frame,
    { title: 'Resources', answers, actions: h('a', { href: linkTo('/_history') }, 'History of all resources') },
    session.value.isAdministrator && h('div', { class: 'lines' }, h(IndexLine, { add }), h(RunningExports, { add, isShort: true })),
    h(Show<Counts>, { loaded, retry, show: ({ counts }) => h(CountList, { counts }) }),
    h(OtherCounts, { key: tenant.value, add }),
    h(OtherTypes, null),
    h('p', { class: 'quiet' }, `Version ${VERSION}, ${DEPLOYMENT}`),
  )
}

/** Lag and running rebuilds in one line, for administrators. */
function IndexLine({ add }: { readonly add: (answer: Answer) => void }) {
  const [loaded, retry] = useLoaded(() => noted(readIndexStatus(), add), `home index ${tenant.value}`)
  if (loaded.state === 'failed') return h(Problem, { error: loaded.error, retry })
  if (loaded.state === 'loading') return h('p', { class: 'quiet' }, 'Reading the status of the index …')
  const { lag, rebuilds } = loaded.data
  const running = rebuilds.map((rebuild) => `${rebuild.type} ${progressText(rebuild)}`)
  const texts = [lagText(lag), running.length === 0 ? 'No rebuild is running' : `Running rebuilds: ${running.join('; ')}`]
  return h('p', { class: 'quiet' }, `${texts.join('. ')}. `, h('a', { href: linkTo('/status') }, 'Status of the index'))
}

const BATCH = 20

/** Counts of the types that the page does not count at first. A batch counts 20 types. On AWS each count is a search. */
function OtherCounts({ add }: { readonly add: (answer: Answer) => void }) {
  const [counts, setCounts] = useState<readonly Count[]>([])
  const { error, isBusy, run } = useTask()
  const left = resourceTypes.filter((type) => !MAIN_TYPES.includes(type)).slice(counts.length)
  const count = async () => {
    const { counts: more } = await noted(countTypes(left.slice(0, BATCH)), add)
    setCounts([...counts, ...more])
  }
  const filled = counts.filter(({ total }) => total !== undefined && total > 0)
  const rest = counts.filter((each) => !filled.includes(each))
  return h(
    'section',
    { 'aria-label': 'Other types' },
    h(CountList, { counts: filled }),
    rest.length > 0 &&
      h('details', null, h('summary', null, `${rest.length} other types without resources or access`), h(CountList, { counts: rest })),
    error !== undefined && h(Problem, { error }),
    left.length > 0 &&
      h(
        'p',
        { class: 'buttons' },
        h(
          'button',
          { type: 'button', disabled: isBusy, onClick: () => run(count) },
          `Count ${Math.min(BATCH, left.length)} of ${left.length} other types`,
        ),
      ),
  )
}

function CountList({ counts }: { readonly counts: readonly Count[] }) {
  if (counts.length === 0) return null
  return h(
    'ul',
    { class: 'counts' },
    counts.map(({ type, total, problem }) =>
      h(
        'li',
        { key: type, class: total === 0 ? 'none' : undefined },
        h(
          'a',
          { href: linkTo(`/${type}`) },
          h('span', null, type),
          h('b', null, total === undefined ? problem : total.toLocaleString('en')),
        ),
      ),
    ),
  )
}

/** Field that leads to the page of any type. */
function OtherTypes() {
  const [type, setType] = useState('')
  return h(
    'p',
    { class: 'other' },
    h(
      'label',
      null,
      'Another type ',
      h('input', { value: type, size: 24, onInput: (event: Event) => setType((event.currentTarget as HTMLInputElement).value.trim()) }),
    ),
    ' ',
    /^[A-Z][A-Za-z]+$/.test(type) && h('a', { href: linkTo(`/${type}`) }, `Show ${type}`),
  )
}

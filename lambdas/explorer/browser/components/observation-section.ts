/** Section of the chart with the Observations of a patient, from a grouped search. */
import { h } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { originalOf } from '../datatypes/date-time.ts'
import { shortText } from '../datatypes/value.ts'
import { type Answer, noted, read } from '../http.ts'
import { isTree, type Tree, textOf, treesOf } from '../json.ts'
import { type Group, groupsOf, momentOf, OBSERVATION_ELEMENTS, searchWithout, valuesOf } from '../observations.ts'
import { linkTo } from '../place.ts'
import { BASE } from '../settings.ts'
import { type Loaded, Show } from './loaded.ts'
import { ObservationGroups } from './observation-groups.ts'
import { Issues } from './problem.ts'
import { Denied, Fact, Folded, isFailure, matchesOf, Nothing, Total } from './section.ts'

/** Values per code that the first request returns, for small plots. More would make its JSON slow to parse. */
const FIRST_VALUES = 5
const CODES = 100

/** Reads the newest Observations of each code. `patient`: id, percent-encoded. Throws Refusal. */
export const readGroups = (patient: string): Promise<Answer> =>
  readInTurn(
    `/Observation?patient=${patient}&_group=code:code&_groupSort=-date&_groupCount=${FIRST_VALUES}&_count=${CODES}` +
      `&_elements=${OBSERVATION_ELEMENTS}`,
  )

/** Reads a path and resolves in a later task, so that one task parses the answer and another one shows it. */
async function readInTurn(path: string): Promise<Answer> {
  const answer = await read(path)
  await new Promise((resolve) => setTimeout(resolve))
  return answer
}

type Props = {
  readonly patient: string
  /** Answer of `readGroups`. */
  readonly loaded: Loaded<Answer>
  readonly retry: () => void
  /** Observations for the person's own access, while a view is active. */
  readonly own?: number | undefined
  /** Receives each further answer, for the requests of the page. */
  readonly add: (answer: Answer) => void
}

export function ObservationSection({ patient, loaded, retry, own, add }: Props) {
  const [more, setMore] = useState<readonly Answer[]>([])
  const [error, setError] = useState<unknown>(undefined)
  const first = loaded.state === 'done' ? loaded.data : undefined
  const bundles = useMemo(() => [first, ...more].flatMap((answer) => (isTree(answer?.body) ? [answer.body] : [])), [first, more])
  const groups = useMemo(() => bundles.flatMap(groupsOf), [bundles])
  const show = () => {
    const total = Number(textOf(bundles[0]?.total))
    const issues = bundles.flatMap(issuesOf)
    const next = textOf(treesOf(bundles.at(-1)?.link).find(({ relation }) => relation === 'next')?.url)
    const loadMore = (url: string) =>
      noted(readInTurn(url.slice(BASE.length)), add).then((further) => setMore((before) => [...before, further]), setError)
    if (total === 0) return h(Nothing, { own })
    return h(
      'div',
      null,
      issues.length > 0 && h(Issues, { issues }),
      groups.length > 0 && h(ObservationGroups, { groups, patient, add }),
      error !== undefined && h(Denied, { error }),
      h(
        'p',
        { class: 'buttons' },
        next?.startsWith(BASE) && h('button', { type: 'button', onClick: () => void loadMore(next) }, 'Show further measurements'),
        h('a', { href: linkTo(`/Observation?patient=${patient}&_sort=-date`) }, 'All observations as a table'),
      ),
      next === undefined && h(Uncoded, { groups, total, patient, add }),
    )
  }
  const isCounted = own !== undefined && loaded.state !== 'loading' && !isFailure(loaded.state === 'failed' ? loaded.error : undefined)
  return h(
    'section',
    { 'aria-label': 'Observations' },
    h('h2', null, 'Observations', ' ', isCounted && h(Total, { total: textOf(bundles[0]?.total), own })),
    loaded.state === 'failed' ? h(Denied, { error: loaded.error, retry }) : h(Show<Answer>, { loaded, retry, show }),
  )
}

const issuesOf = ({ entry }: Tree): readonly Tree[] =>
  treesOf(entry).flatMap(({ resource }) =>
    isTree(resource) && resource.resourceType === 'OperationOutcome' ? treesOf(resource.issue) : [],
  )

type UncodedProps = Pick<Props, 'patient' | 'add'> & { readonly groups: readonly Group[]; readonly total: number }

/** Observations without a code, which no group contains. They are loaded on request. */
function Uncoded({ groups, total, patient, add }: UncodedProps) {
  const [found, setFound] = useState<readonly Tree[] | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const count = total - groups.reduce((sum, { size }) => sum + size, 0)
  if (!(count > 0)) return null
  const load = () =>
    noted(read(`${searchWithout(groups, patient)}&_count=100&_elements=${OBSERVATION_ELEMENTS}`), add).then(
      ({ body }) => setFound(matchesOf(isTree(body) ? body : {})),
      setError,
    )
  return h(
    'div',
    null,
    h('h3', null, `Observations without a code: ${count}`),
    error !== undefined && h(Denied, { error }),
    found === undefined ? h('button', { type: 'button', onClick: () => void load() }, 'Show them') : h(Folded, { items: found.map(item) }),
  )
}

function item(resource: Tree) {
  const moment = momentOf(resource)
  const values = valuesOf(resource).map(({ name, text }) => `${name} ${text}`.trim())
  return h(Fact, {
    key: resource.id,
    resource,
    name: shortText(resource.code),
    facts: [...values, { text: shortText(moment), original: originalOf(moment) }],
  })
}

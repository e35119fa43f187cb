/** Observations of a patient by code: the newest value, a plot, and on request all values. */
import { h } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { dateText } from '../datatypes/date-time.ts'
import { shortText } from '../datatypes/value.ts'
import { type Answer, noted, read } from '../http.ts'
import { isTree, type Tree, textOf } from '../json.ts'
import { drawnOf, type Group, isMistake, momentOf, newestOf, OBSERVATION_ELEMENTS, rangeOf, searchOf, valuesOf } from '../observations.ts'
import { linkTo } from '../place.ts'
import { Plot } from './plot.ts'
import { Denied, matchesOf } from './section.ts'

/** `add`: receives each answer, for the requests of the page. `patient`: id, percent-encoded. */
type Props = { readonly groups: readonly Group[]; readonly patient: string; readonly add: (answer: Answer) => void }

/** Minimum number of groups for the field that narrows the list. */
const MANY = 8
/** Number of cards that one task renders. */
const STEP = 10

export function ObservationGroups({ groups, patient, add }: Props) {
  const [text, setText] = useState('')
  const [count, setCount] = useState(STEP)
  // Cards that stay the same objects are not rendered again.
  const cards = useMemo(() => groups.map((group) => h(Card, { key: group.code, group, patient, add })), [groups])
  const wanted = text.trim().toLowerCase()
  const matches = cards.filter((_, i) => `${groups[i]!.title} ${groups[i]!.code}`.toLowerCase().includes(wanted))
  useEffect(() => {
    if (count >= matches.length) return
    const timer = setTimeout(() => setCount(count + STEP))
    return () => clearTimeout(timer)
  }, [count, matches.length])
  const narrow = (event: Event) => {
    setText((event.currentTarget as HTMLInputElement).value)
    setCount(STEP)
  }
  return h(
    'div',
    null,
    groups.length >= MANY &&
      h('p', null, h('label', null, 'Find a measurement ', h('input', { type: 'search', value: text, onInput: narrow }))),
    matches.length === 0 && h('p', { class: 'quiet' }, 'No observation has this name or code.'),
    h('ul', { class: 'cards' }, matches.slice(0, count)),
  )
}

type CardProps = { readonly group: Group; readonly patient: string; readonly add: (answer: Answer) => void }

/** Maximum values that a card lists. A link leads to the table of all values. */
const MOST_VALUES = 200

function Card({ group, patient, add }: CardProps) {
  const { code, size, title } = group
  const [resources, setResources] = useState(group.resources)
  const [error, setError] = useState<unknown>(undefined)
  const [isOpen, setOpen] = useState(false)
  const search = searchOf(group, patient)
  const toggle = (event: Event) => {
    const isOpened = (event.currentTarget as HTMLDetailsElement).open
    setOpen(isOpened)
    if (isOpened) load()
  }
  const load = () => {
    if (resources.length >= Math.min(size, MOST_VALUES)) return
    setError(undefined)
    noted(read(`${search}&_count=${MOST_VALUES}&_elements=${OBSERVATION_ELEMENTS}`), add).then(
      ({ body }) => setResources(matchesOf(isTree(body) ? body : {})),
      setError,
    )
  }
  return h(
    'li',
    { class: 'card' },
    h('h3', { dir: 'auto', title: code }, title),
    h(Newest, { resources }),
    h(Curves, { title, resources }),
    size > 1 &&
      h(
        'details',
        { onToggle: toggle },
        h('summary', null, size > MOST_VALUES ? `Newest ${MOST_VALUES} of ${size} values` : `All ${size} values`),
        error !== undefined && h(Denied, { error, retry: load }),
        isOpen && h(Values, { title, resources }),
        size > MOST_VALUES && h('p', null, h('a', { href: linkTo(search) }, `All ${size} values as a table`)),
      ),
  )
}

function Newest({ resources }: { readonly resources: readonly Tree[] }) {
  const newest = newestOf(resources)
  const range = rangeOf(newest)
  return h(
    'div',
    { class: 'newest' },
    h(ValueLines, { observation: newest }),
    h(
      'p',
      { class: 'quiet' },
      h('a', { href: linkTo(`/Observation/${newest.id}`) }, h(Moment, { observation: newest })),
      ' ',
      [shortText(newest.interpretation), statusText(newest), range === undefined ? '' : `reference ${range.text}`]
        .filter((each) => each !== '')
        .map((each) => `· ${each}`)
        .join(' '),
    ),
  )
}

function Moment({ observation }: { readonly observation: Tree }) {
  const moment = momentOf(observation)
  return moment === undefined ? 'no date' : h('time', { title: moment }, dateText(moment))
}

const USUAL: ReadonlySet<string> = new Set(['final', 'amended', 'corrected'])

const statusText = (observation: Tree): string => {
  const status = textOf(observation.status) ?? ''
  return isMistake(observation) ? 'entered in error' : USUAL.has(status) ? '' : status
}

function ValueLines({ observation }: { readonly observation: Tree }) {
  return h(
    'ul',
    { class: 'values' },
    valuesOf(observation).map(({ name, text }, i) =>
      h('li', { key: i, dir: 'auto' }, name !== '' && h('span', { class: 'quiet' }, `${name} `), h('b', null, text)),
    ),
  )
}

/** Plot of the numbers, if they were measured at two times at least. */
function Curves({ title, resources }: { readonly title: string; readonly resources: readonly Tree[] }) {
  const drawn = useMemo(() => drawnOf(resources), [resources])
  const range = drawn.series.length === 1 ? rangeOf(newestOf(resources)) : undefined
  if (!drawn.series.some(({ points }) => points.some(({ seconds }) => seconds !== points[0]!.seconds))) return null
  return h(
    'div',
    null,
    h(Plot, { title, drawn, range }),
    drawn.series.length > 1 &&
      h(
        'ul',
        { class: 'legend' },
        drawn.series.map(({ name }, i) => h('li', { key: name, class: `line-${i % 4}` }, name)),
      ),
    drawn.others > 0 && h('p', { class: 'quiet' }, `The plot leaves out values in other units: ${drawn.others}`),
  )
}

function Values({ title, resources }: { readonly title: string; readonly resources: readonly Tree[] }) {
  return h(
    'div',
    { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': `Values: ${title}` },
    h(
      'table',
      null,
      h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Date'), h('th', { scope: 'col' }, 'Value'))),
      h(
        'tbody',
        null,
        resources.map((each) =>
          h(
            'tr',
            { key: each.id },
            h('td', null, h('a', { href: linkTo(`/Observation/${each.id}`) }, h(Moment, { observation: each }))),
            h(
              'td',
              null,
              h(ValueLines, { observation: each }),
              [shortText(each.interpretation), statusText(each)].filter(Boolean).join(' · '),
            ),
          ),
        ),
      ),
    ),
  )
}

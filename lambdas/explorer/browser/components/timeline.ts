/** Encounters by year, the newest first. */
import { h } from 'preact'
import { useState } from 'preact/hooks'
import { codeableConceptText } from '../datatypes/codeable-concept.ts'
import { dateText } from '../datatypes/date-time.ts'
import { shortText } from '../datatypes/value.ts'
import { isTree, type Tree, textOf, treesOf } from '../json.ts'
import { linkTo } from '../place.ts'

const FIRST = 12

export function Timeline({ encounters }: { readonly encounters: readonly Tree[] }) {
  const [isWhole, setWhole] = useState(false)
  const sorted = encounters
    .map((encounter) => ({ encounter, start: startOf(encounter) }))
    .sort((a, b) => (Date.parse(b.start) || 0) - (Date.parse(a.start) || 0))
  const years = Map.groupBy(isWhole ? sorted : sorted.slice(0, FIRST), ({ start }) => dateText(start).slice(0, 4) || 'No date')
  return h(
    'div',
    null,
    [...years].map(([year, items]) =>
      h(
        'div',
        { key: year, class: 'year' },
        h('h3', null, year),
        h(
          'ol',
          { class: 'timeline' },
          items.map(({ encounter, start }) => h(Item, { key: encounter.id, encounter, start })),
        ),
      ),
    ),
    sorted.length > FIRST &&
      !isWhole &&
      h('button', { type: 'button', onClick: () => setWhole(true) }, `${sorted.length - FIRST} earlier encounters`),
  )
}

const startOf = ({ period }: Tree): string => textOf(isTree(period) ? period.start : undefined) ?? ''

function Item({ encounter, start }: { readonly encounter: Tree; readonly start: string }) {
  const { type, reasonCode, status, serviceProvider, class: kind } = encounter
  const name = treesOf(type).map(codeableConceptText).find(Boolean) ?? shortText(kind)
  const facts = [shortText(kind), shortText(reasonCode), shortText(serviceProvider), status === 'finished' ? '' : (textOf(status) ?? '')]
  return h(
    'li',
    null,
    h('time', { title: start }, dateText(start).slice(0, 10)),
    ' ',
    h('a', { href: linkTo(`/Encounter/${encounter.id}`), dir: 'auto' }, name || `Encounter/${encounter.id}`),
    ' ',
    h('span', { class: 'quiet', dir: 'auto' }, facts.filter((each) => each !== '').join(' · ')),
  )
}

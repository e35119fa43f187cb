/** First page: how many resources of each type the server holds. */
import { h } from 'preact'
import { useState } from 'preact/hooks'
import { Frame } from '../components/frame.ts'
import { Show, useLoaded } from '../components/loaded.ts'
import { type Answer, readAll } from '../http.ts'
import { isTree, type Tree, textOf } from '../json.ts'
import { linkTo } from '../place.ts'
import { tenant } from '../session.ts'
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
  const status = isTree(entry?.response) ? (textOf(entry.response.status) ?? '') : ''
  const total = typeof resource.total === 'number' ? resource.total : undefined
  return { type, total, problem: total !== undefined ? undefined : status.startsWith('403') ? 'no access' : 'unknown' }
}

export function HomePage() {
  const [loaded, retry] = useLoaded(() => countTypes(MAIN_TYPES), `home ${tenant.value}`)
  const answers = loaded.state === 'done' ? [loaded.data.answer] : []
  return h(
    Frame,
    { title: 'Resources', answers },
    h(Show<Counts>, { loaded, retry, show: ({ counts }) => h(CountList, { counts }) }),
    h(OtherTypes, null),
  )
}

function CountList({ counts }: { readonly counts: readonly Count[] }) {
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

/** Field for a type that the list does not count. */
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

/** Query of a search as text and as a form. A change of one changes the other. */
import { h } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Loaded } from '../components/loaded.ts'
import { titleOf } from '../components/problem.ts'
import { type Answer, Refusal } from '../http.ts'
import { go } from '../place.ts'
import { capabilitiesOf } from './capabilities.ts'
import { FilterForm } from './filter-form.ts'
import { type Pair, pairsOf, queryOf, textOf } from './query-rows.ts'

/**
 * `type`: undefined if the search has several types. `statement`: the CapabilityStatement. Undefined until the person opens the form, which
 * calls `onOpen`.
 */
type Props = {
  readonly path: string
  readonly query: string
  readonly type: string | undefined
  readonly statement: Loaded<Answer> | undefined
  readonly onOpen: () => void
  readonly retry: () => void
}

/** Unsent changes. `query`: of the address that they began with. */
type Draft = { readonly query: string; readonly text: string; readonly pairs: readonly Pair[] }

export function QueryForm({ path, query, type, statement, onOpen, retry }: Props) {
  const [draft, setDraft] = useState<Draft | undefined>(undefined)
  useEffect(() => setDraft(undefined), [query])
  const { text, pairs } = draft?.query === query ? draft : { text: textOf(pairsOf(query)), pairs: pairsOf(query) }
  const setText = (next: string) => setDraft({ query, text: next, pairs: pairsOf(next) })
  const setPairs = (next: readonly Pair[]) => setDraft({ query, text: textOf(next.filter(isFilled)), pairs: next })
  const submit = (event: Event) => {
    event.preventDefault()
    const next = queryOf(pairsOf(text))
    setDraft(undefined)
    go(next === '' ? path : `${path}?${next}`)
  }
  const body = statement?.state === 'done' ? statement.data.body : undefined
  const capabilities = useMemo(() => capabilitiesOf(body, type), [body, type])
  return h(
    'form',
    { class: 'query', onSubmit: submit },
    h(
      'label',
      null,
      'Query ',
      h('input', {
        class: 'wide',
        value: text,
        spellcheck: false,
        placeholder: 'name=smith&birthdate=ge1970&_sort=-_lastUpdated',
        onInput: (event: Event) => setText((event.currentTarget as HTMLInputElement).value),
      }),
    ),
    h(
      'label',
      { class: 'short' },
      'Group by ',
      h('input', {
        class: 'wide',
        value: pairs.find(([name]) => name === '_group')?.[1] ?? '',
        spellcheck: false,
        placeholder: 'code:code',
        onInput: (event: Event) => setPairs(withGroup(pairs, (event.currentTarget as HTMLInputElement).value)),
      }),
    ),
    h('button', { type: 'submit' }, 'Search'),
    h(
      'details',
      { onToggle: (event: Event) => (event.currentTarget as HTMLDetailsElement).open && onOpen() },
      h('summary', null, 'Filters'),
      statement?.state === 'failed' && h(NoCompletion, { error: statement.error as Error, retry }),
      statement !== undefined && h(FilterForm, { pairs, capabilities, change: setPairs }),
    ),
  )
}

/** Notice that the form lacks the parameters of the server. Every field is then free text. */
function NoCompletion({ error, retry }: { readonly error: Error; readonly retry: () => void }) {
  const { status, seenAs } = error instanceof Refusal ? error.answer : { status: 0 }
  return h(
    'p',
    { role: 'status' },
    `Names are not completed, because the CapabilityStatement was not read: ${titleOf(error, status, seenAs)}. `,
    h('button', { type: 'button', class: 'plain', onClick: retry }, 'Read it again'),
  )
}

const isFilled = ([name, value]: Pair): boolean => name !== '' || value !== ''

/** Returns the pairs with this `_group`, or without one if it is empty. */
function withGroup(pairs: readonly Pair[], group: string): readonly Pair[] {
  const parameters = new URLSearchParams(pairs.map((pair) => [...pair]))
  if (group === '') parameters.delete('_group')
  else parameters.set('_group', group)
  return [...parameters]
}

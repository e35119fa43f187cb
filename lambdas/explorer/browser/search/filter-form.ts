/** Filters of a search as rows: parameter, comparison and value. */
import { type ComponentChild, h } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Capabilities } from './capabilities.ts'
import { type Pair, pairOf, type Row, rowOf, withComparison, withValue } from './query-rows.ts'

/** `change`: receives the pairs after each change, with pairs that are still empty. */
type Props = {
  readonly pairs: readonly Pair[]
  readonly capabilities: Capabilities
  readonly change: (pairs: readonly Pair[]) => void
}

const NAMES = 'filter-names'

export function FilterForm({ pairs, capabilities, change }: Props) {
  const list = useRef<HTMLUListElement>(null)
  const addButton = useRef<HTMLButtonElement>(null)
  const [isAdded, setAdded] = useState(false)
  // Move the focus before the next key, which belongs to the new row.
  useLayoutEffect(() => {
    if (isAdded) list.current?.querySelector<HTMLInputElement>('li:last-child input')?.focus()
    setAdded(false)
  }, [isAdded])
  const add = () => {
    change([...pairs, ['', '']])
    setAdded(true)
  }
  const remove = (at: number) => {
    // The button of the last row disappears with the focus. Those of other rows then belong to the next row.
    if (at === pairs.length - 1) addButton.current?.focus()
    change(pairs.filter((_, i) => i !== at))
  }
  return h(
    'div',
    null,
    h(Choices, { id: NAMES, values: capabilities.names }),
    h(
      'ul',
      { class: 'recent filters', ref: list },
      pairs.map((pair, i) =>
        h(Filter, {
          key: i,
          ...{ number: i + 1, pair, capabilities },
          change: (next) => change(pairs.with(i, next)),
          remove: () => remove(i),
        }),
      ),
    ),
    h('button', { type: 'button', ref: addButton, onClick: add }, 'Add filter'),
  )
}

type FilterProps = {
  readonly number: number
  readonly pair: Pair
  readonly capabilities: Capabilities
  readonly change: (pair: Pair) => void
  readonly remove: () => void
}

function Filter({ number, pair, capabilities, change, remove }: FilterProps) {
  const { parameters, valuesOf } = capabilities
  const row = rowOf(pair, parameters)
  const { comparison, choices } = row
  const documentation = parameters.get(row.parameter)?.documentation
  const help = documentation === undefined ? undefined : `filter-help-${number}`
  const set = (next: Row) => change(pairOf(next))
  return h(
    'li',
    null,
    h(NameInput, { number, row, help, change: (name) => set(renamed(row, name)) }),
    choices.length > 0 &&
      h(
        'select',
        {
          'aria-label': `Comparison ${number}`,
          value: comparison,
          onChange: (event: Event) => set(withComparison(row, (event.currentTarget as HTMLSelectElement).value)),
        },
        choices.map((each) =>
          h('option', { key: each, value: each }, each === '' ? plainText(parameters.get(row.parameter)?.type) : (TEXTS[each] ?? each)),
        ),
      ),
    h(ValueInput, { number, row, values: valuesOf(row.parameter), change: (value) => set(withValue(row, value)) }),
    h('button', { type: 'button', 'aria-label': `Remove filter ${number}`, onClick: remove }, 'Remove'),
    documentation !== undefined && h('span', { id: help, class: 'quiet', dir: 'auto' }, documentation),
  )
}

const TEXTS: Readonly<Record<string, string>> = {
  eq: '= eq',
  ne: '≠ ne',
  gt: '> gt',
  ge: '≥ ge',
  lt: '< lt',
  le: '≤ le',
  sa: 'after: sa',
  eb: 'before: eb',
  ap: 'about: ap',
}

/** Returns the meaning of a value without modifier and prefix. */
const plainText = (type: string | undefined): string =>
  type === 'string' ? 'starts with' : type === 'date' || type === 'number' || type === 'quantity' ? '=' : 'is'

/** Returns the row with another name. The modifier belongs to the previous name, a prefix to the value. */
const renamed = ({ comparison, value, ...row }: Row, name: string): Row =>
  comparison.startsWith(':')
    ? { ...row, parameter: name, comparison: '', value: comparison === ':missing' ? '' : value }
    : { ...row, parameter: name, comparison, value }

type NameProps = { readonly number: number; readonly row: Row; readonly help: string | undefined; readonly change: (name: string) => void }

/** Field with the name. It keeps the text while the person types. Otherwise a modifier would move to its own field before the next key. */
function NameInput({ number, row, help, change }: NameProps) {
  const [typed, setTyped] = useState<string | undefined>(undefined)
  return h('input', {
    'aria-label': `Parameter ${number}`,
    'aria-describedby': help,
    placeholder: 'Parameter',
    list: NAMES,
    spellcheck: false,
    autocomplete: 'off',
    value: typed ?? row.parameter,
    onInput: (event: Event) => {
      const { value } = event.currentTarget as HTMLInputElement
      setTyped(value)
      change(value)
    },
    onBlur: () => setTyped(undefined),
  })
}

type ValueProps = {
  readonly number: number
  readonly row: Row
  readonly values: readonly string[]
  readonly change: (value: string) => void
}

function ValueInput({ number, row: { comparison, value }, values, change }: ValueProps): ComponentChild {
  const name = `Value ${number}`
  const onInput = (event: Event) => change((event.currentTarget as HTMLInputElement).value)
  if (comparison === ':missing' && (value === 'true' || value === 'false'))
    return h(
      'select',
      { 'aria-label': name, value, onChange: onInput },
      ['true', 'false'].map((each) => h('option', { key: each, value: each }, each)),
    )
  const list = values.length === 0 ? undefined : `filter-values-${number}`
  return [
    h('input', { key: 'value', 'aria-label': name, placeholder: 'Value', list, spellcheck: false, autocomplete: 'off', value, onInput }),
    list !== undefined && h(Choices, { key: 'values', id: list, values }),
  ]
}

const Choices = ({ id, values }: { readonly id: string; readonly values: readonly string[] }) =>
  h(
    'datalist',
    { id },
    values.map((value) => h('option', { key: value, value })),
  )

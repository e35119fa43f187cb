/** Links to the saved searches of a type, and the form that saves the current one. */
import { h } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { Problem } from '../components/problem.ts'
import { useTask } from '../components/task.ts'
import { linkTo } from '../place.ts'
import { removeSearch, type SavedSearch, savedSearchesOf, saveSearch } from './saved-searches.ts'

/** `path`: of the search, below the base. */
type Props = { readonly path: string; readonly query: string }

export function SearchList({ path, query }: Props) {
  const [name, setName] = useState('')
  const [done, setDone] = useState('')
  const { error, run } = useTask()
  const summary = useRef<HTMLElement>(null)
  const searches = savedSearchesOf(path)
  const save = (event: Event) => {
    event.preventDefault()
    setDone('')
    run(async () => {
      const given = name.trim()
      if (given === '') return
      saveSearch({ name: given, path, query })
      setName('')
      setDone(`${given} is saved in this browser.`)
    })
  }
  const remove = (search: SavedSearch) => {
    setDone('')
    run(async () => {
      removeSearch(search)
      setDone(`${search.name} is removed.`)
      summary.current?.focus()
    })
  }
  return h(
    'section',
    { class: 'searches', 'aria-label': 'Saved searches' },
    searches.length > 0 &&
      h(
        'ul',
        { class: 'recent links' },
        h('li', { class: 'quiet', key: '' }, 'Saved searches:'),
        searches.map((search) => h('li', { key: search.name }, h(SearchLink, { search, query }), ' ', h(RemoveButton, { search, remove }))),
      ),
    h(
      'details',
      null,
      h('summary', { ref: summary }, 'Save search'),
      h(
        'form',
        { class: 'query', onSubmit: save },
        h(
          'label',
          null,
          'Name ',
          h('input', {
            class: 'wide',
            value: name,
            required: true,
            maxLength: 100,
            placeholder: 'Adults by name',
            onInput: (event: Event) => setName((event.currentTarget as HTMLInputElement).value),
          }),
        ),
        h('button', { type: 'submit' }, searches.some((each) => each.name === name.trim()) ? 'Replace' : 'Save'),
      ),
    ),
    h('span', { role: 'status' }, done),
    error !== undefined && h(Problem, { error }),
  )
}

function SearchLink({ search, query }: { readonly search: SavedSearch; readonly query: string }) {
  const href = linkTo(search.query === '' ? search.path : `${search.path}?${search.query}`)
  const isCurrent = search.query === new URLSearchParams(query).toString()
  return h('a', { href, dir: 'auto', 'aria-current': isCurrent ? 'page' : undefined }, search.name)
}

function RemoveButton({ search, remove }: { readonly search: SavedSearch; readonly remove: (search: SavedSearch) => void }) {
  return h('button', { type: 'button', class: 'plain', 'aria-label': `Remove ${search.name}`, onClick: () => remove(search) }, 'Remove')
}

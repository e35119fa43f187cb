/** Resources of a search, as a table. The address of the page has the query of the search. */
import { h } from 'preact'
import { useState } from 'preact/hooks'
import { Frame } from '../components/frame.ts'
import { answersOf, Show, useLoaded } from '../components/loaded.ts'
import { type Answer, read } from '../http.ts'
import { linkTo } from '../place.ts'
import { QueryForm } from '../search/query-form.ts'
import { Results } from '../search/results.ts'
import { SearchList } from '../search/search-list.ts'
import { readStatement } from '../search/statement.ts'
import { tenant } from '../session.ts'

/** `path`: of the search, below the base. `type`: undefined if the search has several types. */
type Props = { readonly path: string; readonly query: string; readonly type: string | undefined }

export function TypePage({ path, query, type }: Props) {
  const address = query === '' ? path : `${path}?${query}`
  const [loaded, retry] = useLoaded(() => read(address), `${address} ${tenant.value}`)
  const [isFormOpen, setFormOpen] = useState(false)
  const load = () => (isFormOpen ? readStatement() : new Promise<never>(() => undefined))
  const [statement, retryStatement] = useLoaded(load, `${isFormOpen} ${tenant.value}`)
  const answers = [...answersOf(loaded, (answer) => answer), ...answersOf(statement, (answer) => answer)]
  return h(
    Frame,
    { title: decodeURIComponent(path.slice(1)) || 'Search in all types', answers, actions: h(HistoryLink, { path }) },
    h(QueryForm, {
      ...{ path, query, type },
      statement: isFormOpen ? statement : undefined,
      onOpen: () => setFormOpen(true),
      retry: retryStatement,
    }),
    h(SearchList, { path, query }),
    h(Show<Answer>, { loaded, retry, show: (answer) => h(Results, { answer, path, query, type }) }),
  )
}

function HistoryLink({ path }: { readonly path: string }) {
  if (path === '/' || path.indexOf('/', 1) !== -1) return null
  return h('nav', { class: 'links', 'aria-label': 'About this type' }, h('a', { href: linkTo(`${path}/_history`) }, 'History'))
}

/** Starts the explorer in the browser: login, then the page at the address. */
import { h, render } from 'preact'
import { useEffect, useErrorBoundary } from 'preact/hooks'
import { Frame } from './components/frame.ts'
import { Problem } from './components/problem.ts'
import { pageAt } from './pages.ts'
import { followPlaces, type Place, place } from './place.ts'
import { resumeView, seenAs } from './see-as.ts'
import { logIn } from './session.ts'
import { BASE, HAS_OWN_ORIGIN, ROOT } from './settings.ts'
import '@preact/signals'

const app = document.getElementById('app')!

function Page() {
  const { path, query } = place.value
  // The key changes with the view, so that each page loads its data again.
  return h('div', { key: `${path} ${seenAs.value?.name ?? ''}` }, h(Guarded, { path, query }))
}

/** Page, or the error of a page that cannot show its data. Without it the page would stay empty. */
function Guarded({ path, query }: Place) {
  const [error, reset] = useErrorBoundary()
  useEffect(() => {
    if (error !== undefined) reset()
  }, [query])
  if (error === undefined) return pageAt({ path, query })
  return h(Frame, { title: 'This page cannot be shown' }, h(Problem, { error, retry: reset }))
}

async function start(): Promise<void> {
  if (!HAS_OWN_ORIGIN) throw new Error(`The base URL of this server is ${BASE}: open the explorer there`)
  if (!(await logIn())) return
  followPlaces()
  await resumeView()
  app.replaceChildren()
  render(h(Page, null), app)
}

/** The page must not come out of the browser's cache after a logout, with the data of the person before. */
addEventListener('pagehide', () => render(null, app))
addEventListener('pageshow', ({ persisted }) => persisted && location.reload())

start().catch((error: unknown) => {
  // The address at the end of a login works once only.
  const retry = () => (location.pathname === `${ROOT}/callback` ? location.replace(ROOT) : location.reload())
  app.replaceChildren()
  render(h('main', null, h(Problem, { error, retry })), app)
})

/** Starts the explorer in the browser: login, then the page at the address. */
import { h, render } from 'preact'
import { Problem } from './components/problem.ts'
import { pageAt } from './pages.ts'
import { followPlaces, place } from './place.ts'
import { resumeView, seenAs } from './see-as.ts'
import { logIn } from './session.ts'
import { BASE, HAS_OWN_ORIGIN } from './settings.ts'
import '@preact/signals'

const app = document.getElementById('app')!

function Page() {
  const { path, query } = place.value
  // The key changes with the view, so that each page loads its data again.
  return h('div', { key: `${path} ${seenAs.value?.name ?? ''}` }, pageAt({ path, query }))
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
  app.replaceChildren()
  render(h('main', null, h(Problem, { error, retry: () => location.reload() })), app)
})

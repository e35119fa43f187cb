/** Address of the current page. Links change it without a reload. */
import { signal } from '@preact/signals'
import { ROOT } from './settings.ts'

/** `path`: below the explorer, still percent-encoded, such as `/Patient/1`. `query`: without the question mark. */
export type Place = { readonly path: string; readonly query: string }

const placeNow = (): Place => ({
  path: location.pathname.slice(ROOT.length).replace(/\/$/, '') || '/',
  query: location.search.slice(1),
})

export const place = signal<Place>(placeNow())

/**
 * Shows the page at a path below the explorer, query included. `isReplacing`: replaces the current address in the browser's history, and does
 * not scroll.
 */
export function go(path: string, isReplacing = false): void {
  history[isReplacing ? 'replaceState' : 'pushState'](null, '', `${ROOT}${path}`)
  place.value = placeNow()
  if (!isReplacing) scrollTo(0, 0)
}

/** Returns the address of a page, for a link. `path`: below the explorer, query included. */
export const linkTo = (path: string): string => `${ROOT}${path}`

/** Shows the page of the current address, and of each address that the person opens by a link or by the browser's buttons. */
export function followPlaces(): void {
  place.value = placeNow()
  addEventListener('popstate', () => {
    place.value = placeNow()
  })
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest?.('a')
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey
    if (!link || !isPlain || event.defaultPrevented || link.target !== '' || link.hasAttribute('download')) return
    const url = new URL(link.href)
    const isOwn = url.origin === location.origin && (url.pathname === ROOT || url.pathname.startsWith(`${ROOT}/`))
    if (!isOwn || (url.hash !== '' && url.pathname === location.pathname)) return
    event.preventDefault()
    go(`${url.pathname.slice(ROOT.length)}${url.search}`)
  })
}

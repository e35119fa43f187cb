/** Links to the previous and the next page of a Bundle. The address of the page carries the query of the link. */
import { h } from 'preact'
import { type Tree, textOf, treesOf } from '../json.ts'
import { linkTo } from '../place.ts'
import { BASE } from '../settings.ts'

/** `extra`: parameters that the links keep, which belong to the page and not to the request. */
type Props = { readonly bundle: Tree; readonly extra?: string }

export function Paging({ bundle, extra = '' }: Props) {
  const urlOf = (relation: string) => textOf(treesOf(bundle.link).find((link) => link.relation === relation)?.url)
  const [previous, next] = [urlOf('previous'), urlOf('next')]
  if (previous === undefined && next === undefined) return null
  const addressOf = (url: string) => linkTo(`${pathBelow(url)}${extra === '' ? '' : `${url.includes('?') ? '&' : '?'}${extra}`}`)
  return h(
    'nav',
    { class: 'paging', 'aria-label': 'Further results' },
    previous !== undefined && h('a', { href: addressOf(previous), rel: 'prev' }, 'Previous'),
    next !== undefined && h('a', { href: addressOf(next), rel: 'next' }, 'Next'),
  )
}

/** Returns the path of a page of results below the base. A URL that lies elsewhere leads to the home page. */
function pathBelow(url: string): string {
  const rest = url.startsWith(BASE) ? url.slice(BASE.length) : ''
  return /^[/?]/.test(rest) ? rest : '/'
}

/** Frame of every page: the search box, links to the other pages, the person, and the requests behind the page. */
import { type ComponentChildren, h } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { isResourceType } from '../../../fhir/resource-types.ts'
import type { Answer } from '../http.ts'
import { go, linkTo } from '../place.ts'
import { chooseTenant, logOut, session, tenant } from '../session.ts'
import { IS_OPEN } from '../settings.ts'
import { RequestCards } from './request-card.ts'
import { SeeAs, ViewBanner } from './see-as.ts'

type Props = {
  readonly title: string
  /** Links beside the title. */
  readonly actions?: ComponentChildren
  readonly answers?: readonly Answer[]
  readonly children?: ComponentChildren
}

export function Frame({ title, actions, answers = [], children }: Props) {
  useEffect(() => {
    document.title = `${title} - FHIR explorer`
  }, [title])
  return h(
    'div',
    { class: 'frame' },
    h('a', { class: 'skip', href: '#main' }, 'Skip to the content'),
    h(
      'header',
      { class: 'bar' },
      h('a', { class: 'brand', href: linkTo('') }, 'FHIR explorer'),
      h(GoBox, null),
      h(
        'nav',
        { 'aria-label': 'Pages' },
        h('a', { href: linkTo('/requests') }, 'Requests'),
        h('a', { href: linkTo('/exports') }, 'Exports'),
        session.value.isAdministrator && h('a', { href: linkTo('/parameters') }, 'Parameters'),
        session.value.isAdministrator && h('a', { href: linkTo('/status') }, 'Status'),
      ),
      h(Person, null),
    ),
    h(ViewBanner, null),
    h(
      'main',
      { id: 'main' },
      h('div', { class: 'title' }, h('h1', null, title), actions),
      h(SeeAs, null),
      children,
      h(RequestCards, { answers }),
    ),
  )
}

/** Search box. It accepts a path, an id, an identifier or a name. */
function GoBox() {
  const [text, setText] = useState('')
  const submit = (event: Event) => {
    event.preventDefault()
    const wanted = text.trim()
    if (wanted !== '') go(pathFor(wanted))
  }
  return h(
    'form',
    { class: 'go', role: 'search', onSubmit: submit },
    h('input', {
      type: 'search',
      'aria-label': 'Name, identifier, id or path',
      placeholder: 'Name, identifier, id or path',
      value: text,
      onInput: (event: Event) => setText((event.currentTarget as HTMLInputElement).value),
    }),
  )
}

/** Returns the page for a text of the search box. A text that begins with a resource type is a path. Every other text is searched for. */
export function pathFor(text: string): string {
  const path = text.replace(/^\//, '')
  const [type = ''] = path.split(/[/?]/)
  return isResourceType(type) ? `/${path}` : `/find?${new URLSearchParams({ text })}`
}

function Person() {
  if (IS_OPEN) return h('span', { class: 'person' }, 'open server, no login')
  const { name, tenants } = session.value
  return h(
    'span',
    { class: 'person' },
    (tenants.length > 1 || tenants[0] === '*') && h(TenantChoice, { tenants }),
    h('span', { dir: 'auto' }, name),
    h('button', { type: 'button', class: 'plain', onClick: logOut }, 'Sign out'),
  )
}

function TenantChoice({ tenants }: { readonly tenants: readonly string[] }) {
  const change = (event: Event) => {
    chooseTenant((event.currentTarget as HTMLInputElement).value)
    go('')
  }
  const props = { 'aria-label': 'Tenant', value: tenant.value, onChange: change }
  if (tenants.includes('*')) return h('input', { ...props, size: 12 })
  return h(
    'select',
    props,
    tenants.map((each) => h('option', { key: each, value: each }, each)),
  )
}

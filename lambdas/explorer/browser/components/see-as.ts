/** Control that starts the view of a client or of scopes, and the banner of the active view. */
import { h } from 'preact'
import { useState } from 'preact/hooks'
import { place } from '../place.ts'
import { seenAs, startView, stopView } from '../see-as.ts'
import { session } from '../session.ts'
import { IS_OPEN } from '../settings.ts'

/** Pages of one resource: the resource itself, the chart and the member page. */
const OF_RESOURCE = /^\/[A-Z][A-Za-z]+\/[^/*_][^/]*(?:\/(?:chart|member))?$/

/** Form that starts a view, on the pages of a resource. An open server has no tokens, and so no views. */
export function SeeAs() {
  const [text, setText] = useState('')
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  if (IS_OPEN || seenAs.value !== undefined || !OF_RESOURCE.test(place.value.path)) return null
  const submit = (event: Event) => {
    event.preventDefault()
    if (text.trim() === '' || isBusy) return
    setBusy(true)
    setProblem('')
    startView(text).catch((error: Error) => {
      setProblem(error.message)
      setBusy(false)
    })
  }
  const label = session.value.isAdministrator
    ? 'Client id or SMART scopes, such as user/Patient.rs'
    : 'SMART scopes, such as user/Patient.rs'
  const type = (event: Event) => setText((event.currentTarget as HTMLInputElement).value)
  return h(
    'details',
    { class: 'see-as' },
    h('summary', null, 'See as …'),
    h(
      'form',
      { class: 'query', onSubmit: submit },
      h('label', null, label, h('input', { class: 'wide', spellcheck: false, autocomplete: 'off', value: text, onInput: type })),
      h('button', { type: 'submit', disabled: isBusy }, 'See as'),
    ),
    problem !== '' && h('p', { class: 'problem', role: 'alert' }, problem),
  )
}

/** Note in place of a control that changes something, while a view is active. */
export const OffInView = () => h('p', { class: 'quiet' }, 'Nothing can be changed in a view. Stop the view first.')

/** Banner on every page while a view is active. */
export function ViewBanner() {
  const view = seenAs.value
  if (view === undefined) return null
  return h(
    'section',
    { class: 'banner', 'aria-label': 'View' },
    h('p', { role: 'status' }, 'Seen as ', h('strong', null, view.name), '. Editing is off.'),
    h('details', null, h('summary', null, 'Scopes of this view'), h('p', null, h('code', null, view.scopes.join(' ')))),
    h('button', { type: 'button', onClick: stopView }, 'Stop'),
  )
}

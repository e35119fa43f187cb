/** Page of administrators, as others see it. The server refuses their requests too. */
import { h } from 'preact'
import { Frame } from './frame.ts'

export const AdministratorsOnly = ({ title }: { readonly title: string }) =>
  h(Frame, { title }, h('p', { class: 'problem', role: 'alert' }, 'Only administrators may see this page.'))

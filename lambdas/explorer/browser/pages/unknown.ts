/** Page for an address that the explorer does not have. */
import { h } from 'preact'
import { Frame } from '../components/frame.ts'
import { linkTo } from '../place.ts'

export const UnknownPage = () => h(Frame, { title: 'No such page' }, h('p', null, h('a', { href: linkTo('') }, 'Show all resources')))

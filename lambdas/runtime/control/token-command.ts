/** How who may read what a server keeps gets a token of it. */
import type { Command } from '../../adapters/filesystem/command-socket.ts'
import { nameOfOperator } from '../operator-name.ts'
import type { Asked } from './authorization-types.ts'
import { heardAt, type Place } from './server-socket.ts'

/** undefined: no server runs there. Error: why it gives none. */
export const tokenOfServer = (place: Place, asked: Asked): Promise<string | undefined> =>
  heardAt(place, 'token', JSON.stringify({ ...asked, operator: nameOfOperator() }))

/** What a server does for it. */
export const tokenCommands = ({ issue }: { readonly issue: (asked: Asked) => Promise<string> }): Readonly<Record<'token', Command>> => ({
  token: (argument) => issue(JSON.parse(argument) as Asked),
})

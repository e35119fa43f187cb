/** How who may read what a server keeps gets a token of it. */
import type { CommandHandler } from '../../adapters/filesystem/command-socket.ts'
import { nameOfOperator } from '../operator-name.ts'
import type { AccessTokenRequest } from './authorization-types.ts'
import { queryServerAt, type ServerLocation } from './server-socket.ts'

/** undefined: no server runs there. Error: why it gives none. */
export const requestServerToken = (place: ServerLocation, asked: AccessTokenRequest): Promise<string | undefined> =>
  queryServerAt(place, 'token', JSON.stringify({ ...asked, operator: nameOfOperator() }))

/** What a server does for it. */
export const tokenCommands = ({
  issue,
}: {
  readonly issue: (asked: AccessTokenRequest) => Promise<string>
}): Readonly<Record<'token', CommandHandler>> => ({
  token: (argument) => issue(JSON.parse(argument) as AccessTokenRequest),
})

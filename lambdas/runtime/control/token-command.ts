/** Command by which an operator gets an access token. The right to read the data folder suffices as permission. */
import type { CommandHandler } from '../../adapters/filesystem/command-socket.ts'
import { nameOfOperator } from '../operator-name.ts'
import type { AccessTokenRequest } from './authorization-types.ts'
import { queryServerAt, type ServerLocation } from './server-socket.ts'

/** Requests an access token. Returns undefined if no server runs at the location. Throws an Error with the reason if the server refuses. */
export const requestServerToken = (place: ServerLocation, asked: AccessTokenRequest): Promise<string | undefined> =>
  queryServerAt(place, 'token', JSON.stringify({ ...asked, operator: nameOfOperator() }))

/** Returns the server's handler for the command `token`. */
export const tokenCommands = ({
  issue,
}: {
  readonly issue: (asked: AccessTokenRequest) => Promise<string>
}): Readonly<Record<'token', CommandHandler>> => ({
  token: (argument) => issue(JSON.parse(argument) as AccessTokenRequest),
})

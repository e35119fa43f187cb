/** Command by which an operator gets an access token. Access to the data folder is sufficient permission. */
import type { CommandHandler } from '../../adapters/filesystem/command-socket.ts'
import { nameOfOperator } from '../operator-name.ts'
import type { AccessTokenRequest } from './authorization-types.ts'
import { queryServerAt, type ServerLocation } from './server-socket.ts'

/** Returns an access token, or undefined if no server runs there. Throws an Error with the reason if the server refuses. */
export const requestServerToken = (place: ServerLocation, asked: AccessTokenRequest): Promise<string | undefined> =>
  queryServerAt(place, 'token', JSON.stringify({ ...asked, operator: nameOfOperator() }))

/** Returns the server's handler for this command. */
export const tokenCommands = ({
  issue,
}: {
  readonly issue: (asked: AccessTokenRequest) => Promise<string>
}): Readonly<Record<'token', CommandHandler>> => ({
  token: (argument) => issue(JSON.parse(argument) as AccessTokenRequest),
})

/** Location of a running server. A command finds the server by its data folder, or by its port if it was started with --memory. */
import { chmodSync, copyFileSync, lstatSync, mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { ADDRESS_FILE, type CommandHandler, queryServer } from '../../adapters/filesystem/command-socket.ts'

/** Data folder of a server, or port of a server that was started with --memory. */
export type ServerLocation = { readonly folder: string } | { readonly port: number }

/**
 * Sends a command to the server and returns its answer. Returns undefined if no server runs at the location. Throws an Error if the server
 * refuses or cannot be reached.
 */
export async function queryServerAt(place: ServerLocation, command: string, argument: string): Promise<string | undefined> {
  if ('folder' in place) return queryServer(place.folder, command, argument)
  const passing = folderOfPort(place.port)
  return isOurs(passing) ? queryServer(passing, command, argument) : undefined
}

/** Returns the message for the operator if no server runs at the location. */
export const noServerMessage = (place: ServerLocation): string =>
  'folder' in place ? `No server runs on ${place.folder}` : `No server started with --memory runs on port ${place.port}`

/** Returns the data folder of the server. Throws an Error if the location is a port without a server. */
export async function dataFolderAt(place: ServerLocation): Promise<string> {
  if ('folder' in place) return place.folder
  const folder = await queryServerAt(place, 'folder', '')
  if (folder === undefined) throw new Error(noServerMessage(place))
  return folder
}

/** Returns the base URL of the server, or undefined if none runs at the location. */
export const baseUrlOfServer = (place: ServerLocation): Promise<string | undefined> => queryServerAt(place, 'base', '')

/** Returns the server's handlers for the commands `folder` and `base`. */
export const locationCommands = (folder: string, baseUrl: string): Readonly<Record<'folder' | 'base', CommandHandler>> => ({
  folder: async () => resolve(folder),
  base: async () => baseUrl,
})

/**
 * Lets commands find a server that was started with --memory by its port. Returns a function that ends this. Throws an Error if the folder
 * for the port is not private to this user.
 */
export function announcePort(dataFolder: string, port: number): () => void {
  const folder = folderOfPort(port)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (!isOurs(folder)) throw new Error(`${folder} is not ours alone`)
  copyFileSync(join(dataFolder, ADDRESS_FILE), join(folder, ADDRESS_FILE))
  chmodSync(join(folder, ADDRESS_FILE), 0o600)
  return () => rmSync(folder, { recursive: true, force: true })
}

/** Number of the user, because some users have no name. -1 on Windows, which has no numbers, but a temporary folder for each user. */
const uid = process.getuid?.() ?? -1

const folderOfPort = (port: number): string => join(tmpdir(), `fhir-${uid}-port-${port}`)

/** Whether the folder is private to this user. Any user can create a folder with this name, so its content is otherwise not trusted. */
function isOurs(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  if (found === undefined || !found.isDirectory()) return false
  return process.platform === 'win32' || (found.uid === uid && (found.mode & 0o077) === 0)
}

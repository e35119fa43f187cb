/** How a command finds the server it means: by its data folder, or, where it keeps nothing, by the port it listens on. */
import { chmodSync, copyFileSync, lstatSync, mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { ADDRESS_FILE, type CommandHandler, queryServer } from '../../adapters/filesystem/command-socket.ts'

/** A data folder; the port of a server started with --memory. */
export type ServerLocation = { readonly folder: string } | { readonly port: number }

/** What the server there says to a command; undefined: none runs there. Error: why it refuses, or cannot be asked. */
export async function queryServerAt(place: ServerLocation, command: string, argument: string): Promise<string | undefined> {
  if ('folder' in place) return queryServer(place.folder, command, argument)
  const passing = folderOfPort(place.port)
  return isOurs(passing) ? queryServer(passing, command, argument) : undefined
}

/** For a person. */
export const noServerMessage = (place: ServerLocation): string =>
  'folder' in place ? `No server runs on ${place.folder}` : `No server started with --memory runs on port ${place.port}`

/** Where the server there keeps what it keeps. Error where none runs. */
export async function dataFolderAt(place: ServerLocation): Promise<string> {
  if ('folder' in place) return place.folder
  const folder = await queryServerAt(place, 'folder', '')
  if (folder === undefined) throw new Error(noServerMessage(place))
  return folder
}

/** The base URL of the server there; undefined: none runs. */
export const baseUrlOfServer = (place: ServerLocation): Promise<string | undefined> => queryServerAt(place, 'base', '')

/** What a server says of itself. */
export const locationCommands = (folder: string, baseUrl: string): Readonly<Record<'folder' | 'base', CommandHandler>> => ({
  folder: async () => resolve(folder),
  base: async () => baseUrl,
})

/** Lets commands find a server that keeps nothing, by the port it listens on. Undone by what is returned. Error where that is not possible. */
export function announcePort(dataFolder: string, port: number): () => void {
  const folder = folderOfPort(port)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (!isOurs(folder)) throw new Error(`${folder} is not ours alone`)
  copyFileSync(join(dataFolder, ADDRESS_FILE), join(folder, ADDRESS_FILE))
  chmodSync(join(folder, ADDRESS_FILE), 0o600)
  return () => rmSync(folder, { recursive: true, force: true })
}

/** Of a user who may have a number and no name; Windows has no numbers, and a folder of its own for each. */
const uid = process.getuid?.() ?? -1

const folderOfPort = (port: number): string => join(tmpdir(), `fhir-${uid}-port-${port}`)

/** Anybody may make a folder there: what somebody else says is not heard. */
function isOurs(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  if (found === undefined || !found.isDirectory()) return false
  return process.platform === 'win32' || (found.uid === uid && (found.mode & 0o077) === 0)
}

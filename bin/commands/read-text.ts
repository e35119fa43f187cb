/** Input files of commands. */
import { readFileSync } from 'node:fs'
import { parseSigningKey, type SigningKey } from '../client/assertion-token.ts'

/** Returns the content of a file. `file`: path, or 0 for standard input. Throws an error that names the file. */
export function readText(file: string | 0): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(`${file === 0 ? 'Standard input' : file} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}

/** Returns the private key in a file. Throws an Error that names the file, and contains no part of the key. */
export function readSigningKey(file: string): SigningKey {
  const text = readText(file)
  try {
    return parseSigningKey(text)
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`)
  }
}

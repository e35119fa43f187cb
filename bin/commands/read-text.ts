/** A file that a command was given. */
import { readFileSync } from 'node:fs'

/** `file`: 0 is standard input. Error that names the file. */
export function readText(file: string | 0): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(`${file === 0 ? 'Standard input' : file} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}

import { reasonOf } from './grants-file.ts'

/** What is read, or what is wrong with the machine. */
export function reading<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw reasonOf(error)
  }
}

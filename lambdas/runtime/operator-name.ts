/** Name of the operator who runs a command: the operating system user. */
import { userInfo } from 'node:os'

/** Returns the user name. In some containers a user has only a number: then returns that number. */
export function nameOfOperator(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}

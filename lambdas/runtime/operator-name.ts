/** Name of the operator who runs a command: the operating system user. */
import { userInfo } from 'node:os'

/** Returns the user name. In a container without user names, returns the number of the user. */
export function nameOfOperator(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}

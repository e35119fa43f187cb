/** Who runs a command: the user of the machine. */
import { userInfo } from 'node:os'

/** Some users of containers have a number and no name. */
export function nameOfOperator(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}

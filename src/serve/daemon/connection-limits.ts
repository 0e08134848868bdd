/** Limits how many connections a server accepts, and logs when there are more. */

import { Failure, systemReason } from "../../failure.ts";
import { isLoopback } from "../../networks.ts";
import type { Settings } from "../../settings/definitions.ts";
import { limitUnreleased } from "../../store/closing.ts";
import {
  type AddressLimitOptions,
  type ConnectionLimitOptions,
  canCountConnections,
} from "../http/connection-limit.ts";
import type { DescriptorReserve } from "../http/descriptor-reserve.ts";
import type { ListenOptions } from "../http/server.ts";
import { allowedDescriptors, type DescriptorPlan, planDescriptors, tooFewDescriptors } from "../threads/descriptors.ts";
import type { Logger } from "./logger.ts";

/**
 * Returns the limits of a server, if connections can be counted. `all` may be infinite; 0 for `ofAddress` is no limit.
 */
export function connectionLimits(
  { all, ofAddress }: { all: number; ofAddress: number },
  reserve: DescriptorReserve,
  logger: Logger,
): Pick<ListenOptions, "connections" | "addressConnections"> {
  if (!canCountConnections()) return {};
  return {
    ...(Number.isFinite(all) ? { connections: connectionLimit(all, reserve, logger) } : {}),
    ...(ofAddress > 0 ? { addressConnections: addressLimit(ofAddress, logger) } : {}),
  };
}

function connectionLimit(maxConnections: number, reserve: DescriptorReserve, logger: Logger): ConnectionLimitOptions {
  return {
    maxConnections,
    reserve,
    onFull: (connections) =>
      logger.warn("too many connections: new ones are refused", { connections, max_connections: maxConnections }),
    onRoom: () => logger.info("new connections are accepted again"),
    onTrouble: (error) =>
      logger.error("cannot reopen the port; retrying every second", { reason: systemReason(error) }),
  };
}

function addressLimit(most: number, logger: Logger): AddressLimitOptions {
  return {
    most,
    isExempt: isLoopback,
    onCrowded: (address, connections) =>
      logger.warn("too many connections from one address: each is closed with its next response", {
        address,
        connections,
        address_connections: most,
      }),
  };
}

/**
 * Plans the use of file descriptors, and logs when the system allows fewer than the daemon may need.
 * @throws {Failure} `environment` when they are too few to work with
 */
export function descriptorPlan({ threads, max_connections }: Settings, logger: Logger): DescriptorPlan {
  const allowed = allowedDescriptors();
  const plan = planDescriptors(allowed, { threads, maxConnections: max_connections });
  if (allowed < plan.least) throw new Failure("environment", tooFewDescriptors(allowed, threads, plan));
  limitUnreleased(plan.open.unreleased);
  if (plan.isLow) {
    logger.warn("the limit of open files is low: fewer workspaces stay open, and fewer connections are accepted", {
      limit: allowed,
      needed: plan.needed,
      open_workspaces: threads * plan.open.writers,
      max_connections: plan.connections,
    });
  }
  return plan;
}

/** Which workspaces this node looks after without being asked: it sweeps them and delivers their events. */
export interface Ownership {
  /**
   * Returns those of the workspaces that this node serves, which includes those that no node served. Null when there are
   * no other nodes.
   */
  owned: ((workspaceIds: readonly string[]) => Promise<ReadonlySet<string>>) | null;
}

/** Of a node that has not joined the others yet. */
export const nothingOwned: Ownership["owned"] = async () => new Set();

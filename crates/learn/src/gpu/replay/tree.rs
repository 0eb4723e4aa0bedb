//! The sum tree's shape and a build from its leaves on the host; twin of `replay.cuh`.

/// Children of a node.
const FAN: usize = 32;

/// Nodes of each level, padded to whole groups of children: leaves first, then up to a single group.
pub(crate) fn level_lens(capacity: usize) -> Vec<usize> {
    let mut lens = vec![capacity.max(1).next_multiple_of(FAN)];
    while let Some(&len) = lens.last().filter(|&&len| len > FAN) {
        lens.push((len / FAN).next_multiple_of(FAN));
    }
    lens
}

/// Recomputes a learner's tree from its leaves; `nodes` are all levels, one after the other.
pub(crate) fn build(nodes: &mut [f64], capacity: usize) {
    let mut rest = nodes;
    for len in level_lens(capacity) {
        let (children, parents) = rest.split_at_mut(len);
        for (parent, group) in parents.iter_mut().zip(children.chunks_exact(FAN)) {
            *parent = sum(group);
        }
        rest = parents;
    }
}

/// As a balanced tree of neighbours: the sums of a binary tree.
fn sum(group: &[f64]) -> f64 {
    match group {
        [one] => *one,
        _ => {
            let (left, right) = group.split_at(group.len() / 2);
            sum(left) + sum(right)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::proportional::SumTree;

    #[test]
    fn levels_shrink_thirty_two_fold() {
        assert_eq!(level_lens(1), [32]);
        assert_eq!(level_lens(32), [32]);
        assert_eq!(level_lens(33), [64, 32]);
        assert_eq!(level_lens(1_024), [1_024, 32]);
        assert_eq!(level_lens(1_025), [1_056, 64, 32]);
        assert_eq!(level_lens(1 << 20), [1 << 20, 1 << 15, 1 << 10, 32]);
    }

    #[test]
    fn the_root_is_the_binary_trees_bit_for_bit() {
        for capacity in [1, 31, 32, 33, 1_023, 1_025, 40_000] {
            let lens = level_lens(capacity);
            let mut nodes = vec![0.0; lens.iter().sum()];
            let leaves: Vec<f64> = (0..capacity).map(|i| 0.1 + (i as f64 * 0.7).sin().abs()).collect();
            nodes[..capacity].copy_from_slice(&leaves);
            build(&mut nodes, capacity);
            let mut binary = SumTree::new(capacity);
            binary.fill(&leaves);
            assert_eq!(sum(&nodes[nodes.len() - 32..]), binary.total(), "{capacity} leaves");
        }
    }
}

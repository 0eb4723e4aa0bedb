// How several models decide one bar. CPU twin: ensemble::EnsembleVote, equal bit for bit given the same Q: f32, sums in
// the order of the models, exact comparisons.
// N_ACTION actions; VOTE is VOTE_*; VOTE_QUORUM votes are needed to leave the flat action.
#pragma once

// The action whose level is nearest to 0; ties go to the lowest index. CPU twin: ensemble::flat_action.
GB_DEVICE int vote_flat(const f64* level) {
    int flat = 0;
    for (int a = 1; a < N_ACTION; ++a) {
        if (fabs(level[a]) < fabs(level[flat])) flat = a;
    }
    return flat;
}

struct VoteTally {
    f32 sum[N_ACTION];    // of Q over the voters
    f32 score[N_ACTION];  // votes, or what they weigh
    int voters;

    GB_DEVICE void clear() {
        voters = 0;
#pragma unroll
        for (int a = 0; a < N_ACTION; ++a) sum[a] = score[a] = 0.0f;
    }

    // The Q of one model; one that is not finite abstains.
    GB_DEVICE void add(const f32* q) {
        bool finite = true;
        int choice = 0;
        f32 best = q[0], second = q[0], least = q[0];
        bool has_second = false;
#pragma unroll
        for (int a = 0; a < N_ACTION; ++a) {
            finite = finite && q[a] - q[a] == 0.0f;
            if (q[a] > best) {
                best = q[a];
                choice = a;
            }
            if (q[a] < least) least = q[a];
        }
        if (!finite) return;
#pragma unroll
        for (int a = 0; a < N_ACTION; ++a) {
            if (a != choice && (!has_second || q[a] > second)) {
                second = q[a];
                has_second = true;
            }
        }
        f32 range = best - least;
        f32 weight = 1.0f;
        if (VOTE == VOTE_CONFIDENCE) weight = range > 0.0f ? (best - second) / range : 0.0f;
#pragma unroll
        for (int a = 0; a < N_ACTION; ++a) {
            sum[a] += q[a];
            if (a == choice) score[a] += weight;
        }
        voters += 1;
    }

    GB_DEVICE int decide(int flat) const {
        if (voters == 0) return flat;
        int winner = 0;
        f32 score_top = VOTE == VOTE_MEAN_Q ? sum[0] : score[0];
        f32 sum_top = sum[0];
#pragma unroll
        for (int a = 1; a < N_ACTION; ++a) {
            f32 own = VOTE == VOTE_MEAN_Q ? sum[a] : score[a];
            if (own > score_top || (own == score_top && sum[a] > sum_top)) {
                winner = a;
                score_top = own;
                sum_top = sum[a];
            }
        }
        return score_top < (f32)VOTE_QUORUM && VOTE == VOTE_AGREEMENT ? flat : winner;
    }
};
